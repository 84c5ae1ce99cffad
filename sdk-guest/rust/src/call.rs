use crate::abi::{self, Level};
use crate::config::Config;
use crate::wire::{Fields, Message};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The way to the host during one call, and what every request says.
pub struct Call {
    pub(crate) message: Vec<u8>,
}

/// Who asks. Each is empty unless the operator granted it to the plugin.
#[derive(Clone, Debug, Default)]
pub struct Caller<'a> {
    /// Who vouches for the subject.
    pub issuer: &'a str,
    /// Who asks.
    pub subject: &'a str,
    /// The subject's tenant.
    pub tenant: &'a str,
    /// Scopes of the token.
    pub scopes: Vec<&'a str>,
    /// The token's claims, a JSON object.
    pub claims: &'a str,
    /// The granted keys of the request's `_meta`, a JSON object.
    pub meta: &'a str,
}

impl Call {
    /// Fetches the call's request.
    pub(crate) fn fetch() -> Self {
        let mut message = Vec::with_capacity(1024);
        loop {
            // SAFETY: the host writes at most capacity bytes, and says how many.
            let n = unsafe { abi::host_req(message.as_mut_ptr(), message.capacity()) } as usize;
            if n <= message.capacity() {
                unsafe { message.set_len(n) };
                return Call { message };
            }
            message.reserve_exact(n);
        }
    }

    pub(crate) fn fields(&self) -> Fields<'_> {
        Fields(&self.message)
    }

    /// The time of the request, in milliseconds since 1970 in UTC.
    pub fn now_ms(&self) -> u64 {
        self.fields().uint(17)
    }

    /// How long the call may take, from its start, in milliseconds; 0: unsaid.
    pub fn deadline_ms(&self) -> u64 {
        self.fields().uint(8)
    }

    /// Who asks.
    pub fn caller(&self) -> Caller<'_> {
        let f = self.fields();
        Caller {
            issuer: f.text(13),
            subject: f.text(11),
            tenant: f.text(14),
            scopes: f.texts(15).collect(),
            claims: f.text(16),
            meta: f.text(12),
        }
    }

    /// The operator's config for this plugin.
    pub fn config(&self) -> Config {
        Config
    }

    /// Writes a line to the host's log. It is cut at 1 KiB and rate-limited.
    pub fn log(&self, level: Level, line: &str) {
        log(level, line);
    }

    /// The name that the operator gave to a scheme of the plugin, or `name` itself.
    pub fn scheme(&self, name: &str) -> String {
        scheme(name)
    }

    /// Says that the resource at `uri`, or something below it, changed. It works in every call but init and describe.
    pub fn updated(&self, uri: &str) {
        emit(abi::KIND_UPDATED, Message::default().text(1, uri));
    }

    /// Says that the list, or what describe adds, changed. It works where [`Call::updated`] does.
    pub fn list_changed(&self) {
        emit(abi::KIND_LIST_CHANGED, &Message::default());
    }
}

pub(crate) fn log(level: Level, line: &str) {
    // SAFETY: the host reads the line during the call.
    unsafe { abi::host_log(level as i32, line.as_ptr(), line.len()) }
}

/// Pushes a record.
pub(crate) fn emit(kind: i32, record: &Message) -> i32 {
    // SAFETY: the host reads the record during the call.
    unsafe { abi::host_emit(kind, record.0.as_ptr(), record.0.len()) }
}

pub(crate) fn scheme(name: &str) -> String {
    Config.raw(&("/$schemes/".to_string() + name)).unwrap_or_else(|| name.to_string())
}

/// Calls a host function that fills a buffer and answers with a length, with a buffer that is long enough.
pub(crate) fn fetch(mut call: impl FnMut(*mut u8, usize) -> i32) -> core::result::Result<Vec<u8>, i32> {
    let mut buf: Vec<u8> = Vec::with_capacity(256);
    loop {
        let n = call(buf.as_mut_ptr(), buf.capacity());
        if n < 0 {
            return Err(n);
        }
        if n as usize <= buf.capacity() {
            // SAFETY: the host wrote n bytes.
            unsafe { buf.set_len(n as usize) };
            return Ok(buf);
        }
        buf.reserve_exact(n as usize);
    }
}
