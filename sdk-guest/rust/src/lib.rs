//! The SDK for plugins in Rust: a plugin serves resources to a reshost host, from inside a WebAssembly sandbox. README.md
//! beside this crate leads from nothing to a loaded plugin; the contract is `abi/README.md` of the same project.
//!
//! ```no_run
//! use reshost::{Plugin, Provider, ReadRequest, Response, Result, Template, Var};
//!
//! struct Greeter;
//!
//! impl Provider for Greeter {
//!     fn plugin() -> Plugin<Self> {
//!         Plugin::new("greeter", "1.0.0").scheme("greet").template(
//!             Template::new("greet://{name}", "greeting").var(Var::new("name")).read(Greeter::greet),
//!         )
//!     }
//!     fn init(_: &reshost::Call) -> Result<Self> {
//!         Ok(Greeter)
//!     }
//! }
//!
//! impl Greeter {
//!     fn greet(&self, req: &ReadRequest, out: &mut Response) -> Result<()> {
//!         out.text(&format!("Hello, {}!", req.var("name")))
//!     }
//! }
//!
//! reshost::export!(Greeter);
//! # fn main() {}
//! ```
//!
//! # State
//!
//! [`Provider::init`] makes the plugin's value, once, before the host keeps the guest's memory; each call begins from that memory
//! again. What a call changes, through a `Cell` say, is gone in the next. Even under `shared` isolation any call may
//! meet any instance, so that it is a cache at best. State that must survive is [`PollResponse::set_state`],
//! [`kv`], or the client's, through [`Response::input_required`].
//!
//! # Errors
//!
//! A handler fails with an [`Error`]. Its message reaches the client for the codes `Invalid`, `Unavailable`, `TooLarge` and
//! `Unsupported`, cut at 1 KiB; for the others it goes to the log. A panic traps: the call fails, the log has the text.
//!
//! # Without std
//!
//! `default-features = false` needs `alloc` only; the plugin brings its allocator and its panic handler.
#![cfg_attr(not(feature = "std"), no_std)]
#![warn(missing_docs)]

extern crate alloc;

pub mod abi;
mod call;
mod complete;
mod config;
mod error;
#[doc(hidden)]
pub mod export;
pub mod fs;
pub mod http;
mod json;
pub mod kv;
mod list;
mod plugin;
mod poll;
mod read;
mod uri;
mod wire;

pub use abi::Level;
pub use call::{Call, Caller};
pub use complete::{CompleteRequest, Completion};
pub use config::{pointer, Config};
pub use error::{Code, Error, Result};
pub use json::Json;
pub use list::{ListRequest, ListResponse};
pub use plugin::{Capability, Description, Plugin, Provider, Resource, Template, Var};
pub use poll::{PollRequest, PollResponse};
pub use read::{Part, Question, ReadRequest, Response};
pub use uri::{escape_path, escape_segment};
