use crate::call::fetch;
use crate::error::{Error, Result};
use crate::{abi, wire};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The operator's config for this plugin, a JSON object, value by value. A value is named by a JSON Pointer (RFC 6901) such
/// as `/title` or `/sources/0/url`; [`pointer`] builds one from names that come from elsewhere.
///
/// A value of another kind than the method's is an [`Error`] that names the pointer and is fit to return from
/// [`Provider::init`](crate::Provider::init).
#[derive(Clone, Copy, Debug)]
pub struct Config;

impl Config {
    /// A value: a string, number, boolean or null as plain text, an array or object as JSON text. `None`: it is absent.
    pub fn raw(&self, pointer: &str) -> Option<String> {
        // SAFETY: the host reads the pointer and fills the buffer during the call.
        let b = fetch(|buf, cap| unsafe { abi::config_get(pointer.as_ptr(), pointer.len(), buf, cap) }).ok()?;
        Some(wire::text(&b).to_string())
    }

    /// A value as text, or `default`.
    pub fn string(&self, pointer: &str, default: &str) -> String {
        self.raw(pointer).unwrap_or_else(|| default.to_string())
    }

    /// A whole number, or `default`.
    pub fn int(&self, pointer: &str, default: i64) -> Result<i64> {
        match self.raw(pointer) {
            None => Ok(default),
            Some(s) => s.parse().map_err(|_| fault(pointer, &s, "a whole number")),
        }
    }

    /// True or false, or `default`.
    pub fn bool(&self, pointer: &str, default: bool) -> Result<bool> {
        match self.raw(pointer) {
            None => Ok(default),
            Some(s) => s.parse().map_err(|_| fault(pointer, &s, "true or false")),
        }
    }

    /// One of the allowed values, or `default`.
    pub fn one_of(&self, pointer: &str, default: &str, allowed: &[&str]) -> Result<String> {
        let s = self.string(pointer, default);
        if allowed.contains(&s.as_str()) {
            return Ok(s);
        }
        let quoted: Vec<String> = allowed.iter().map(|a| format!("{a:?}")).collect();
        Err(fault(pointer, &s, &format!("one of {}", quoted.join(" "))))
    }

    /// The elements of an array as text; empty when it is absent.
    pub fn strings(&self, pointer: &str) -> Vec<String> {
        (0..).map_while(|i| self.raw(&format!("{pointer}/{i}"))).collect()
    }

    /// What the path of a granted folder's URIs begins with, such as `/srv/docs`. `None`: it is not granted.
    pub fn root(&self, name: &str) -> Option<String> {
        self.raw(&format!("/$roots{}", pointer(&[name])))
    }
}

fn fault(pointer: &str, got: &str, want: &str) -> Error {
    Error::invalid(format!("config {pointer}: got {got:?}, want {want}"))
}

/// The JSON Pointer to the value under these names, outermost first.
pub fn pointer(names: &[&str]) -> String {
    names.iter().map(|n| format!("/{}", n.replace('~', "~0").replace('/', "~1"))).collect()
}
