use crate::abi;
use crate::call::{emit, Call};
use crate::error::{Error, Result};
use crate::json::Json;
use crate::wire::{Fields, Message};
use core::cell::RefCell;
use core::ops::Deref;

/// Asks for one resource. It is a [`Call`] too.
pub struct ReadRequest<'a> {
    pub(crate) call: &'a Call,
    pub(crate) declared: Option<alloc::vec::Vec<&'a str>>,
    pub(crate) misused: RefCell<Option<alloc::string::String>>,
}

impl Deref for ReadRequest<'_> {
    type Target = Call;

    fn deref(&self) -> &Call {
        self.call
    }
}

impl<'a> ReadRequest<'a> {
    fn message(&self) -> Fields<'a> {
        self.call.fields()
    }

    /// The URI, normalised, with the scheme's effective name.
    pub fn uri(&self) -> &'a str {
        self.message().text(1)
    }

    /// The template that matched, as listed; empty for a direct resource.
    pub fn uri_template(&self) -> &'a str {
        self.message().text(20)
    }

    /// A variable, percent-decoded; empty when the URI does not define it. The template must declare it: asking for another
    /// fails the read, so that a test meets the mistake.
    pub fn var(&self, name: &str) -> &'a str {
        self.lookup_var(name).unwrap_or("")
    }

    /// Like [`ReadRequest::var`]; `None` when the URI does not define it.
    pub fn lookup_var(&self, name: &str) -> Option<&'a str> {
        let value = self.message().pair(3, 4, name);
        if let (None, Some(declared)) = (value, &self.declared) {
            if !declared.contains(&name) {
                self.misused.borrow_mut().get_or_insert_with(|| name.into());
            }
        }
        value
    }

    /// What [`Response::input_required`] was given in the first attempt.
    pub fn state(&self) -> &'a [u8] {
        self.message().bytes(5)
    }

    /// The client's answer to the question of that key, a JSON object; decline and cancel too.
    pub fn answer(&self, key: &str) -> Option<&'a str> {
        self.message().pair(6, 7, key)
    }

    /// Whether the client can be asked by a method such as `elicitation/create`.
    pub fn can_ask(&self, method: &str) -> bool {
        self.message().texts(18).any(|m| m == method)
    }

    /// Bounds the sum of all bodies; 0: unsaid.
    pub fn max_bytes(&self) -> u64 {
        self.message().uint(9)
    }

    /// The etag of the contents that the host still holds, or empty. If it is right return [`Error::not_modified`].
    pub fn if_etag(&self) -> &'a str {
        self.message().text(10)
    }

    /// Tells the client how far the read is: `done` only grows, `total` is 0 when unknown.
    pub fn progress(&self, done: u64, total: u64, message: &str) {
        let total = if total > 0 { total + 1 } else { 0 };
        emit(abi::KIND_PROGRESS, Message::default().uint(1, done).uint(2, total).text(3, message));
    }
}

/// Takes the contents of a resource, part by part: each body whole ([`Response::text`], [`Response::bytes`],
/// [`Response::json`]) or in pieces ([`Response::part`], then [`Response::write`]).
///
/// Its methods fail when the host wants no more: the limit is met, or the caller left. Return that error with `?`.
pub struct Response<'a> {
    pub(crate) mime: &'a str,
    pub(crate) parts: usize,
    pub(crate) asked: bool,
    pub(crate) stopped: bool,
    ttl_plus_1: u64,
    public: bool,
    etag: alloc::string::String,
}

/// A part that [`Response::write`] fills.
#[derive(Clone, Copy, Debug, Default)]
pub struct Part<'a> {
    /// The part's own URI, below the one that was asked for. Empty: that one.
    pub uri: &'a str,
    /// A media type. Empty: the resource's or template's, else `text/plain` or `application/octet-stream`.
    pub mime: &'a str,
    /// The whole body is valid UTF-8.
    pub text: bool,
    /// A hint.
    pub size: u64,
    /// A JSON object for `_meta`, or empty.
    pub meta: &'a str,
}

/// A question to the client.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Unique among the questions; the answer comes back under it.
    pub key: &'a str,
    /// Such as `elicitation/create`: one that [`ReadRequest::can_ask`] admits.
    pub method: &'a str,
    /// The method's parameters, a JSON object.
    pub params: &'a str,
}

impl<'a> Response<'a> {
    pub(crate) fn new(mime: &'a str) -> Self {
        Response { mime, parts: 0, asked: false, stopped: false, ttl_plus_1: 0, public: false, etag: Default::default() }
    }

    /// How long the result may be reused, for the parts that follow. The operator's config bounds it.
    pub fn set_ttl(&mut self, ms: u64) {
        self.ttl_plus_1 = ms + 1;
    }

    /// Every caller gets the same bytes, for the parts that follow. It counts only where the operator allows it.
    pub fn set_public(&mut self) {
        self.public = true;
    }

    /// Names the state of the content, for the parts that follow: printable ASCII up to 256 bytes.
    pub fn set_etag(&mut self, etag: &str) {
        self.etag = etag.into();
    }

    /// Writes a part of text: `text/plain` unless the resource or template has a type.
    pub fn text(&mut self, s: &str) -> Result<()> {
        self.part(Part { text: true, size: s.len() as u64, ..Part::default() })?;
        self.write(s.as_bytes())
    }

    /// Writes a part of bytes: `application/octet-stream` unless the resource or template has a type.
    pub fn bytes(&mut self, b: &[u8]) -> Result<()> {
        self.part(Part { size: b.len() as u64, ..Part::default() })?;
        self.write(b)
    }

    /// Writes a part of JSON text: `application/json` unless the resource or template has a type.
    pub fn json(&mut self, j: &Json) -> Result<()> {
        let mime = if self.mime.is_empty() { "application/json" } else { self.mime };
        self.part(Part { text: true, mime, size: j.as_str().len() as u64, ..Part::default() })?;
        self.write(j.as_str().as_bytes())
    }

    /// Begins a part. Its body is what [`Response::write`] is given until the next part begins.
    pub fn part(&mut self, p: Part<'_>) -> Result<()> {
        let mime = match (p.mime, p.text) {
            ("", _) if p.uri.is_empty() && !self.mime.is_empty() => self.mime,
            ("", true) => "text/plain",
            ("", false) => "application/octet-stream",
            (m, _) => m,
        };
        let mut m = Message::default();
        m.text(1, p.uri).text(2, mime).uint(3, p.text.into()).uint(4, p.size).text(5, p.meta);
        m.text(6, &self.etag).uint(7, self.ttl_plus_1).uint(8, self.public.into());
        self.parts += 1;
        self.replied(emit(abi::KIND_CONTENT, &m))
    }

    /// Appends to the body of the part that began last.
    pub fn write(&mut self, b: &[u8]) -> Result<()> {
        // SAFETY: the host reads b during the call.
        self.replied(unsafe { abi::host_write(b.as_ptr(), b.len()) })
    }

    /// Asks the client for more before the read can complete. Return its result. The read comes again with `state`, at most
    /// 8 KiB, which the host seals, and with the answers. No part may have begun.
    pub fn input_required(&mut self, state: &[u8], questions: &[Question<'_>]) -> Result<()> {
        for q in questions {
            let mut m = Message::default();
            let reply = emit(abi::KIND_INPUT, m.text(1, q.key).text(2, q.method).text(3, q.params));
            self.replied(reply)?;
        }
        if !state.is_empty() || questions.is_empty() {
            self.replied(emit(abi::KIND_STATE, Message::default().bytes(1, state)))?;
        }
        self.asked = true;
        Ok(())
    }

    fn replied(&mut self, reply: i32) -> Result<()> {
        match reply {
            abi::REPLY_CONTINUE => Ok(()),
            abi::REPLY_STOP => {
                self.stopped = true;
                Err(Error::silent(abi::STATUS_TOO_LARGE))
            }
            _ => Err(Error::internal("the host rejected a record of the read; its log says why")),
        }
    }
}
