use crate::abi;
use crate::call::{emit, Call};
use crate::plugin::Resource;
use crate::wire::Message;
use alloc::string::String;
use core::ops::Deref;

/// Asks for a page of a list. It is a [`Call`] too.
pub struct ListRequest<'a> {
    pub(crate) call: &'a Call,
}

impl Deref for ListRequest<'_> {
    type Target = Call;

    fn deref(&self) -> &Call {
        self.call
    }
}

impl<'a> ListRequest<'a> {
    /// The `after` of the last resource on the page before; empty for the first page.
    pub fn cursor(&self) -> &'a str {
        self.call.fields().text(1)
    }

    /// The most resources wanted, at least 1. [`ListResponse`] counts; it is a hint for reading ahead.
    pub fn page_size(&self) -> u64 {
        self.call.fields().uint(2).max(1)
    }
}

/// Takes a page of resources.
pub struct ListResponse {
    left: u64,
    pub(crate) after: String,
    pub(crate) added: bool,
    pub(crate) full: bool,
    pub(crate) broken: bool,
    pub(crate) ttl_plus_1: u64,
    pub(crate) public: bool,
}

impl ListResponse {
    pub(crate) fn new(left: u64) -> Self {
        ListResponse { left, after: String::new(), added: false, full: false, broken: false, ttl_plus_1: 0, public: false }
    }

    /// Adds a resource. `after` is the cursor from which the list goes on behind it, never empty. False: the page is full, `r`
    /// was not taken, the next page begins with it, and the handler returns. What the host rejects is left out.
    #[must_use = "false: the page is full"]
    pub fn add(&mut self, r: &Resource, after: &str) -> bool {
        if self.full || self.left == 0 || emit(abi::KIND_RESOURCE, &r.record()) == abi::REPLY_STOP {
            self.full = true;
            return false;
        }
        self.left -= 1;
        self.added = true;
        self.broken |= after.is_empty();
        self.after.clear();
        self.after.push_str(after);
        true
    }

    /// How long the page may be reused.
    pub fn set_ttl(&mut self, ms: u64) {
        self.ttl_plus_1 = ms + 1;
    }

    /// Every caller gets the same list. It counts only where the operator allows it.
    pub fn set_public(&mut self) {
        self.public = true;
    }
}

/// Fields of an INFO record.
#[derive(Default)]
pub(crate) struct Info {
    pub total_plus_1: u64,
    pub has_more: bool,
    pub next_poll_ms: u64,
    pub ttl_plus_1: u64,
    pub public: bool,
}

impl Info {
    /// Sends the record unless it says nothing; the status of the call.
    pub fn send(&self) -> i32 {
        let mut m = Message::default();
        m.uint(1, self.total_plus_1).uint(2, self.has_more.into()).uint(3, self.next_poll_ms);
        m.uint(4, self.ttl_plus_1).uint(5, self.public.into());
        if m.0.is_empty() || emit(abi::KIND_INFO, &m) == abi::REPLY_CONTINUE {
            abi::STATUS_OK
        } else {
            abi::STATUS_INTERNAL
        }
    }
}
