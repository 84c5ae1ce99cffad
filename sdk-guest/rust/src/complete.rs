use crate::abi;
use crate::call::{emit, Call};
use crate::list::Info;
use crate::wire::Message;
use core::ops::Deref;

/// Asks for values of a variable. It is a [`Call`] too.
pub struct CompleteRequest<'a> {
    pub(crate) call: &'a Call,
}

impl Deref for CompleteRequest<'_> {
    type Target = Call;

    fn deref(&self) -> &Call {
        self.call
    }
}

impl<'a> CompleteRequest<'a> {
    /// The template's text, as listed.
    pub fn uri_template(&self) -> &'a str {
        self.call.fields().text(20)
    }

    /// The variable's name.
    pub fn argument(&self) -> &'a str {
        self.call.fields().text(2)
    }

    /// What was typed so far.
    pub fn value(&self) -> &'a str {
        self.call.fields().text(3)
    }

    /// Another variable, if the client knows it already.
    pub fn known(&self, name: &str) -> Option<&'a str> {
        self.call.fields().pair(4, 5, name)
    }
}

/// Takes the proposals.
#[derive(Default)]
pub struct Completion {
    count: usize,
    info: Info,
}

impl Completion {
    /// Proposes a value, raw (not percent-encoded), best first. False: no more are wanted. A handler that adds all its values
    /// needs nothing else: the client learns the total if they all fitted, and else that there are more.
    pub fn add(&mut self, value: &str) -> bool {
        if self.count < abi::MAX_VALUES {
            match emit(abi::KIND_VALUE, Message::default().text(1, value)) {
                abi::REPLY_CONTINUE => self.count += 1,
                abi::REPLY_STOP => {
                    self.info.has_more = true;
                    return false;
                }
                _ => {}
            }
            return true;
        }
        self.info.has_more = true;
        false
    }

    /// How many values there are in all.
    pub fn set_total(&mut self, n: u64) {
        self.info.total_plus_1 = n + 1;
    }

    /// There are more values than those added.
    pub fn set_more(&mut self) {
        self.info.has_more = true;
    }

    /// How long the proposals may be reused.
    pub fn set_ttl(&mut self, ms: u64) {
        self.info.ttl_plus_1 = ms + 1;
    }

    /// Every caller gets the same values. It counts only where the operator allows it.
    pub fn set_public(&mut self) {
        self.info.public = true;
    }

    pub(crate) fn finish(mut self) -> i32 {
        if self.info.total_plus_1 == 0 && !self.info.has_more {
            self.info.total_plus_1 = self.count as u64 + 1;
        }
        self.info.send()
    }
}
