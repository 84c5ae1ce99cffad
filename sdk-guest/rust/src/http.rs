//! Granted origins: capability `http`. A request starts at once and is waited for later, so that several run side by side:
//!
//! ```no_run
//! # fn both() -> reshost::Result<()> {
//! use reshost::http::Request;
//! let a = Request::get("https://api.test/v1/a").send()?;
//! let b = Request::get("https://api.test/v1/b").send()?;
//! let (a, b) = (a.wait()?, b.wait()?);
//! # Ok(()) }
//! ```

use crate::abi;
use crate::call::fetch;
use crate::error::{Code, Error, Result};
use crate::wire::{Fields, Message};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A request: a builder.
pub struct Request {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    timeout_ms: u64,
}

impl Request {
    /// A request of a method, such as `POST`.
    pub fn new(method: &str, url: &str) -> Self {
        Request { method: method.to_string(), url: url.to_string(), headers: Vec::new(), body: Vec::new(), timeout_ms: 0 }
    }

    /// A GET.
    pub fn get(url: &str) -> Self {
        Self::new("GET", url)
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_string(), value.to_string()));
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: &[u8]) -> Self {
        self.body = body.to_vec();
        self
    }

    /// Bounds the exchange beside the call's deadline.
    pub fn timeout_ms(mut self, ms: u64) -> Self {
        self.timeout_ms = ms;
        self
    }

    /// Starts the request and does not wait.
    pub fn send(&self) -> Result<Pending> {
        let mut m = Message::default();
        m.text(1, &self.method).text(2, &self.url);
        for (name, value) in &self.headers {
            m.item(3, name.as_bytes()).item(4, value.as_bytes());
        }
        m.bytes(5, &self.body).uint(6, self.timeout_ms);
        // SAFETY: the host reads the record during the call.
        let handle = unsafe { abi::http_send(m.0.as_ptr(), m.0.len()) };
        Error::check(handle, &self.url)?;
        Ok(Pending { handle: Handle(handle), url: self.url.clone() })
    }
}

struct Handle(i32);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: no memory is passed.
        unsafe { abi::http_close(self.0) };
    }
}

/// A request on its way.
pub struct Pending {
    handle: Handle,
    url: String,
}

impl Pending {
    /// Waits for the response's head.
    pub fn wait(self) -> Result<Response> {
        // SAFETY: the host fills the buffer during the call.
        match fetch(|buf, cap| unsafe { abi::http_head(self.handle.0, buf, cap) }) {
            Ok(head) => Ok(Response { handle: self.handle, head }),
            Err(status) => Err(Error::check(status, &self.url).err().unwrap_or_else(|| Error::internal(self.url))),
        }
    }
}

/// A response. It is closed when it is dropped.
pub struct Response {
    handle: Handle,
    head: Vec<u8>,
}

impl Response {
    /// The status code, such as 200.
    pub fn status(&self) -> u16 {
        Fields(&self.head).uint(1) as u16
    }

    /// The URL, after redirects.
    pub fn url(&self) -> &str {
        Fields(&self.head).text(4)
    }

    /// The first header of that name, whatever its case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v)
    }

    /// All headers.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let f = Fields(&self.head);
        f.texts(2).zip(f.texts(3))
    }

    /// Fills `buf` with the body's next bytes; 0 is the end.
    pub fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        // SAFETY: the host fills the buffer during the call.
        Error::check(unsafe { abi::http_read(self.handle.0, buf.as_mut_ptr(), buf.len()) }, "read")
    }

    /// Reads the rest of the body. More than `limit` bytes are [`Code::TooLarge`].
    pub fn body(mut self, limit: u64) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        let mut buf = alloc::vec![0; 64 << 10];
        loop {
            let n = self.read(&mut buf)?;
            if n == 0 {
                return Ok(all);
            }
            all.extend_from_slice(&buf[..n]);
            if all.len() as u64 > limit {
                return Err(Error::new(Code::TooLarge, alloc::format!("the response is longer than {limit} bytes")));
            }
        }
    }
}
