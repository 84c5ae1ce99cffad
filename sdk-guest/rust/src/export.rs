//! What the host calls. [`export!`](crate::export!) makes the exports; plugins use nothing else of it.

use crate::abi::{self, Level};
use crate::call::{emit, log, scheme, Call};
use crate::complete::{CompleteRequest, Completion};
use crate::error::{Error, Result};
use crate::list::{Info, ListRequest, ListResponse};
use crate::plugin::{Description, Plugin, Provider, Template};
use crate::poll::{PollRequest, PollResponse};
use crate::read::{ReadRequest, Response};
use crate::wire::Message;
use alloc::string::String;
use core::cell::{RefCell, UnsafeCell};

/// Exports a [`Provider`] as the plugin of this module.
#[macro_export]
macro_rules! export {
    ($provider:ty) => {
        static RESHOST_GUEST: $crate::export::Guest<$provider> = $crate::export::Guest::new();

        #[no_mangle]
        extern "C" fn rh_init() -> i32 {
            RESHOST_GUEST.init()
        }
        #[no_mangle]
        extern "C" fn rh_describe() -> i32 {
            RESHOST_GUEST.describe()
        }
        #[no_mangle]
        extern "C" fn rh_read() -> i32 {
            RESHOST_GUEST.read()
        }
        #[no_mangle]
        extern "C" fn rh_list() -> i32 {
            RESHOST_GUEST.list()
        }
        #[no_mangle]
        extern "C" fn rh_complete() -> i32 {
            RESHOST_GUEST.complete()
        }
        #[no_mangle]
        extern "C" fn rh_poll() -> i32 {
            RESHOST_GUEST.poll()
        }
    };
}

/// The instance behind the exports.
pub struct Guest<T: Provider>(UnsafeCell<Option<(Plugin<T>, T)>>);

// SAFETY: a guest has one thread, and the host makes one call at a time.
unsafe impl<T: Provider> Sync for Guest<T> {}

impl<T: Provider> Default for Guest<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Turns an error into a status, and an ERROR record where one is legal.
fn fail(e: &Error, record: bool) -> i32 {
    if e.silent {
        return e.status;
    }
    if !record {
        log(Level::Error, &e.message);
        return e.status;
    }
    let mut end = e.message.len().min(abi::MAX_ERROR_MESSAGE);
    while !e.message.is_char_boundary(end) {
        end -= 1;
    }
    let mut m = Message::default();
    m.text(1, &e.message[..end]).text(2, &e.detail).uint(3, e.retry_after_ms);
    emit(abi::KIND_ERROR, &m);
    e.status
}

/// A registered URI or template with the scheme's effective name.
fn effective(uri: &str) -> String {
    let (name, rest) = uri.split_at(uri.find(':').unwrap_or(0));
    let mut out = scheme(name);
    out.push_str(rest);
    out
}

impl<T: Provider> Guest<T> {
    /// An instance that was not initialised yet.
    pub const fn new() -> Self {
        Guest(UnsafeCell::new(None))
    }

    fn get(&self) -> Result<&(Plugin<T>, T)> {
        // SAFETY: see Sync. The value is set by init alone, before any other call.
        unsafe { &*self.0.get() }.as_ref().ok_or_else(|| Error::internal("a call before rh_init"))
    }

    /// Serves rh_init.
    pub fn init(&self) -> i32 {
        #[cfg(all(feature = "std", target_arch = "wasm32"))]
        std::panic::set_hook(std::boxed::Box::new(|info| log(Level::Error, &alloc::format!("{info}"))));
        let call = Call::fetch();
        if call.fields().uint(20) != 0 {
            return abi::STATUS_OK;
        }
        match T::init(&call) {
            Ok(t) => {
                // SAFETY: see Sync.
                unsafe { *self.0.get() = Some((T::plugin(), t)) };
                abi::STATUS_OK
            }
            Err(e) => fail(&e, true),
        }
    }

    /// Serves rh_describe.
    pub fn describe(&self) -> i32 {
        let call = Call::fetch();
        let plugin = T::plugin();
        let mut d = Description::default();
        if let (Some(describe), 0) = (plugin.describe, call.fields().uint(20)) {
            if let Err(e) = self.get().and_then(|(_, t)| describe(t, &call, &mut d)) {
                return fail(&e, false);
            }
        }
        let j = plugin.manifest(&d);
        match emit(abi::KIND_MANIFEST, &Message(j.as_str().into())) {
            abi::REPLY_CONTINUE => abi::STATUS_OK,
            _ => abi::STATUS_INTERNAL,
        }
    }

    /// Serves rh_read.
    pub fn read(&self) -> i32 {
        self.try_read(&Call::fetch()).unwrap_or_else(|e| fail(&e, true))
    }

    fn try_read(&self, call: &Call) -> Result<i32> {
        let (plugin, t) = self.get()?;
        let mut req = ReadRequest { call, declared: None, misused: RefCell::new(None) };
        let mut handler = plugin.dynamic_read;
        let mut mime = "";
        if let Some(template) = find(plugin, call.fields().uint(2), req.uri_template()) {
            handler = template.read;
            mime = template.mime_type();
            req.declared = Some(template.vars.iter().map(|v| &*v.name).collect());
        } else if req.uri_template().is_empty() {
            if let Some(i) = plugin.resources.iter().position(|r| effective(&r.uri) == req.uri()) {
                handler = Some(plugin.resource_reads[i]);
                mime = plugin.resources[i].mime_type();
            }
        }
        let handler = handler.ok_or_else(|| Error::not_found(alloc::format!("no handler for {}", req.uri())))?;
        let mut out = Response::new(mime);
        handler(t, &req, &mut out)?;
        if let Some(name) = req.misused.take() {
            return Err(Error::internal(alloc::format!(
                "the handler of {} asked for the variable {name:?}, which it does not declare",
                req.uri_template()
            )));
        }
        match (out.stopped, out.asked, out.parts) {
            (true, ..) => Ok(abi::STATUS_TOO_LARGE),
            (_, true, _) => Ok(abi::STATUS_INPUT_REQUIRED),
            (.., 0) => Err(Error::internal(alloc::format!("the handler of {} wrote no part", req.uri()))),
            _ => Ok(abi::STATUS_OK),
        }
    }

    /// Serves rh_list.
    pub fn list(&self) -> i32 {
        self.try_list(&Call::fetch()).unwrap_or_else(|e| fail(&e, true))
    }

    fn try_list(&self, call: &Call) -> Result<i32> {
        let (plugin, t) = self.get()?;
        let list = plugin.list.ok_or_else(|| Error::unsupported("the plugin has no list"))?;
        let req = ListRequest { call };
        let mut out = ListResponse::new(req.page_size());
        list(t, &req, &mut out)?;
        if out.broken {
            return Err(Error::internal("the list gave a resource an empty cursor"));
        }
        if out.full {
            if !out.added {
                return Err(Error::too_large("the list's next resource does not fit into a page"));
            }
            if emit(abi::KIND_CURSOR, Message::default().text(1, &out.after)) != abi::REPLY_CONTINUE {
                return Ok(abi::STATUS_INTERNAL);
            }
        }
        Ok(Info { ttl_plus_1: out.ttl_plus_1, public: out.public, ..Info::default() }.send())
    }

    /// Serves rh_complete.
    pub fn complete(&self) -> i32 {
        self.try_complete(&Call::fetch()).unwrap_or_else(|e| fail(&e, true))
    }

    fn try_complete(&self, call: &Call) -> Result<i32> {
        let (plugin, t) = self.get()?;
        let req = CompleteRequest { call };
        let handler = match find(plugin, call.fields().uint(1), req.uri_template()) {
            Some(template) => template.vars.iter().find(|v| v.name == req.argument()).and_then(|v| v.complete),
            None => plugin.dynamic_complete,
        };
        let handler = handler.ok_or_else(|| Error::invalid(alloc::format!("nothing completes {:?}", req.argument())))?;
        let mut out = Completion::default();
        handler(t, &req, &mut out)?;
        Ok(out.finish())
    }

    /// Serves rh_poll.
    pub fn poll(&self) -> i32 {
        self.try_poll(&Call::fetch()).unwrap_or_else(|e| fail(&e, false))
    }

    fn try_poll(&self, call: &Call) -> Result<i32> {
        let (plugin, t) = self.get()?;
        let (_, poll) = plugin.poll.ok_or_else(|| Error::unsupported("the plugin has no poll"))?;
        let mut out = PollResponse::default();
        poll(t, &PollRequest { call }, &mut out)?;
        Ok(out.finish())
    }
}

/// Finds a registered template by its place, or by its text when the place is unsaid, as of a dynamic plugin.
fn find<'a, T>(plugin: &'a Plugin<T>, index: u64, text: &str) -> Option<&'a Template<T>> {
    if index > 0 {
        return plugin.templates.get(index as usize - 1);
    }
    plugin.templates.iter().find(|t| !text.is_empty() && effective(&t.uri_template) == text)
}
