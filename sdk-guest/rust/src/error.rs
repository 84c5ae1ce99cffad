use crate::abi;
use alloc::borrow::Cow;
use core::fmt;

/// What a handler returns.
pub type Result<T> = core::result::Result<T, Error>;

/// Kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[non_exhaustive]
pub enum Code {
    /// There is no such resource, file or value.
    NotFound = abi::STATUS_NOT_FOUND,
    /// The request cannot be served as it was asked. The message reaches the client.
    Invalid = abi::STATUS_INVALID,
    /// The caller may not; the client cannot tell it from `NotFound`.
    Denied = abi::STATUS_DENIED,
    /// Not now. The message reaches the client.
    Unavailable = abi::STATUS_UNAVAILABLE,
    /// The plugin is at fault.
    Internal = abi::STATUS_INTERNAL,
    /// A limit on size was met. The message reaches the client.
    TooLarge = abi::STATUS_TOO_LARGE,
    /// This is not done here. The message reaches the client.
    Unsupported = abi::STATUS_UNSUPPORTED,
}

/// How a call ends that does not end well.
#[derive(Clone, Debug)]
pub struct Error {
    pub(crate) status: i32,
    pub(crate) message: Cow<'static, str>,
    pub(crate) detail: Cow<'static, str>,
    pub(crate) retry_after_ms: u64,
    /// The host knows already: no ERROR record is sent.
    pub(crate) silent: bool,
}

impl Error {
    /// A failure with a code and a message.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Error { status: code as i32, message: message.into(), detail: Cow::Borrowed(""), retry_after_ms: 0, silent: false }
    }

    /// There is no such resource.
    pub fn not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::NotFound, message)
    }

    /// The request cannot be served as it was asked.
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Invalid, message)
    }

    /// The caller may not.
    pub fn denied(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Denied, message)
    }

    /// It does not work now; after so many milliseconds it is worth another try (0: unsaid).
    pub fn unavailable(message: impl Into<Cow<'static, str>>, retry_after_ms: u64) -> Self {
        Error { retry_after_ms, ..Self::new(Code::Unavailable, message) }
    }

    /// The plugin is at fault.
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Internal, message)
    }

    /// A limit on size was met.
    pub fn too_large(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::TooLarge, message)
    }

    /// The plugin does not do this.
    pub fn unsupported(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Unsupported, message)
    }

    /// What [`ReadRequest::if_etag`](crate::ReadRequest::if_etag) names still holds. Return it from a read.
    pub fn not_modified() -> Self {
        Self::silent(abi::STATUS_NOT_MODIFIED)
    }

    /// Adds a JSON object for the protocol error's data.
    pub fn with_detail(mut self, json: impl Into<Cow<'static, str>>) -> Self {
        self.detail = json.into();
        self
    }

    /// The code.
    pub fn code(&self) -> Code {
        match self.status {
            abi::STATUS_NOT_FOUND => Code::NotFound,
            abi::STATUS_INVALID => Code::Invalid,
            abi::STATUS_DENIED => Code::Denied,
            abi::STATUS_UNAVAILABLE => Code::Unavailable,
            abi::STATUS_TOO_LARGE => Code::TooLarge,
            abi::STATUS_UNSUPPORTED => Code::Unsupported,
            _ => Code::Internal,
        }
    }

    pub(crate) fn silent(status: i32) -> Self {
        Error { status, message: Cow::Borrowed(""), detail: Cow::Borrowed(""), retry_after_ms: 0, silent: true }
    }

    /// The answer of a capability, which is at least 0 or minus a status.
    pub(crate) fn check(answer: i32, what: &str) -> Result<usize> {
        if answer >= 0 {
            return Ok(answer as usize);
        }
        let mut e = Self::internal(alloc::format!("{what}: status {}", -answer));
        e.status = -answer;
        Err(e)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.message.is_empty() {
            return write!(f, "{:?}", self.code());
        }
        f.write_str(&self.message)
    }
}

#[cfg(feature = "std")]
impl std::error::Error for Error {}
