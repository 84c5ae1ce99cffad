use crate::abi;
use crate::call::{emit, Call};
use crate::error::{Error, Result};
use crate::list::Info;
use crate::wire::Message;
use core::ops::Deref;

/// A tick of the watch, a change that the host saw, or a webhook. It is a [`Call`] too.
pub struct PollRequest<'a> {
    pub(crate) call: &'a Call,
}

impl Deref for PollRequest<'_> {
    type Target = Call;

    fn deref(&self) -> &Call {
        self.call
    }
}

impl<'a> PollRequest<'a> {
    /// The URIs that somebody watches.
    pub fn watched(&self) -> impl Iterator<Item = &'a str> {
        self.call.fields().texts(1)
    }

    /// Paths in granted folders that changed. An empty one: anything may have.
    pub fn changed(&self) -> impl Iterator<Item = &'a str> {
        self.call.fields().texts(6)
    }

    /// What the last poll gave to [`PollResponse::set_state`], on whatever instance.
    pub fn state(&self) -> &'a [u8] {
        self.call.fields().bytes(5)
    }

    /// The body of a webhook that the host verified.
    pub fn body(&self) -> &'a [u8] {
        self.call.fields().bytes(7)
    }

    /// A header of that webhook.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.call.fields().pair(21, 22, name)
    }
}

/// Takes what a poll has to say beside the changes.
#[derive(Default)]
pub struct PollResponse {
    info: Info,
}

impl PollResponse {
    /// Keeps at most 8 KiB for the next poll.
    pub fn set_state(&mut self, b: &[u8]) -> Result<()> {
        match emit(abi::KIND_STATE, Message::default().bytes(1, b)) {
            abi::REPLY_CONTINUE => Ok(()),
            _ => Err(Error::internal("the host rejected the poll's state; its log says why")),
        }
    }

    /// Asks for the next poll after so many milliseconds, in place of the plugin's interval.
    pub fn set_next_poll(&mut self, ms: u64) {
        self.info.next_poll_ms = ms;
    }

    pub(crate) fn finish(self) -> i32 {
        self.info.send()
    }
}
