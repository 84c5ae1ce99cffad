//! Values that outlive a call and a reload: capability `kv`. What a poll writes every caller can read and none can write; what
//! a request writes stays in the caller's own partition.

use crate::abi;
use crate::call::fetch;
use crate::error::{Code, Error, Result};
use alloc::vec::Vec;

/// The value of a key, if there is one.
pub fn get(key: &str) -> Result<Option<Vec<u8>>> {
    // SAFETY: the host reads the key and fills the buffer during the call; so everywhere in this module.
    match fetch(|buf, cap| unsafe { abi::kv_get(key.as_ptr(), key.len(), buf, cap) }) {
        Ok(b) => Ok(Some(b)),
        Err(status) if -status == abi::STATUS_NOT_FOUND => Ok(None),
        Err(status) => Err(Error::check(status, key).err().unwrap_or_else(|| Error::new(Code::Internal, "kv"))),
    }
}

/// Keeps a value for `ttl_ms`; 0: it does not expire. Over the quota it fails with [`Code::TooLarge`].
pub fn put(key: &str, value: &[u8], ttl_ms: u64) -> Result<()> {
    let answer = unsafe { abi::kv_put(key.as_ptr(), key.len(), value.as_ptr(), value.len(), ttl_ms as i64) };
    Error::check(answer, key).map(|_| ())
}

/// Deletes a value.
pub fn delete(key: &str) -> Result<()> {
    Error::check(unsafe { abi::kv_del(key.as_ptr(), key.len()) }, key).map(|_| ())
}
