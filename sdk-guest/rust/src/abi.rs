//! Numbers of the ABI, and the host's functions. A test compares them with the ABI's golden file. Plugins need [`Level`] alone.
#![allow(missing_docs)]

pub const MAX_ERROR_MESSAGE: usize = 1024;
pub const MAX_VALUES: usize = 100;

pub const STATUS_OK: i32 = 0;
pub const STATUS_NOT_FOUND: i32 = 1;
pub const STATUS_INVALID: i32 = 2;
pub const STATUS_DENIED: i32 = 3;
pub const STATUS_UNAVAILABLE: i32 = 4;
pub const STATUS_INTERNAL: i32 = 5;
pub const STATUS_TOO_LARGE: i32 = 6;
pub const STATUS_UNSUPPORTED: i32 = 7;
pub const STATUS_INPUT_REQUIRED: i32 = 8;
pub const STATUS_NOT_MODIFIED: i32 = 9;

pub const KIND_RESOURCE: i32 = 1;
pub const KIND_CURSOR: i32 = 3;
pub const KIND_CONTENT: i32 = 4;
pub const KIND_VALUE: i32 = 5;
pub const KIND_ERROR: i32 = 6;
pub const KIND_INPUT: i32 = 7;
pub const KIND_STATE: i32 = 8;
pub const KIND_UPDATED: i32 = 9;
pub const KIND_LIST_CHANGED: i32 = 10;
pub const KIND_INFO: i32 = 11;
pub const KIND_MANIFEST: i32 = 12;
pub const KIND_PROGRESS: i32 = 13;

pub const REPLY_CONTINUE: i32 = 0;
pub const REPLY_STOP: i32 = 1;
pub const REPLY_UNKNOWN: i32 = 2;
pub const REPLY_REJECTED: i32 = 3;

/// Severity of a log line (RFC 5424).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Level {
    Error = 3,
    Warning = 4,
    Info = 6,
    Debug = 7,
}

macro_rules! imports {
    ($($module:literal { $($name:literal fn $f:ident($($arg:ident: $ty:ty),*) $(-> $ret:ty)?;)* })*) => {
        $(
            #[cfg(target_arch = "wasm32")]
            #[link(wasm_import_module = $module)]
            extern "C" {
                $(
                    #[link_name = $name]
                    pub(crate) fn $f($($arg: $ty),*) $(-> $ret)?;
                )*
            }
            $(
                // Elsewhere, as in a plugin's own unit tests, there is no host: every call of it panics.
                #[cfg(not(target_arch = "wasm32"))]
                pub(crate) unsafe fn $f($(_: $ty),*) $(-> $ret)? {
                    panic!(concat!($module, ".", $name, ": no host outside of WebAssembly"))
                }
            )*
        )*
    };
}

imports! {
    "reshost_v1" {
        "req" fn host_req(buf: *mut u8, cap: usize) -> i32;
        "emit" fn host_emit(kind: i32, ptr: *const u8, len: usize) -> i32;
        "write" fn host_write(ptr: *const u8, len: usize) -> i32;
        "log" fn host_log(level: i32, ptr: *const u8, len: usize);
    }
    "reshost_config_v1" {
        "get" fn config_get(path: *const u8, plen: usize, buf: *mut u8, cap: usize) -> i32;
    }
    "reshost_fs_v1" {
        "stat" fn fs_stat(path: *const u8, plen: usize, buf: *mut u8, cap: usize) -> i32;
        "open" fn fs_open(path: *const u8, plen: usize) -> i32;
        "read" fn fs_read(handle: i32, off: i64, buf: *mut u8, cap: usize) -> i32;
        "list" fn fs_list(path: *const u8, plen: usize, after: *const u8, alen: usize, buf: *mut u8, cap: usize) -> i32;
        "close" fn fs_close(handle: i32) -> i32;
    }
    "reshost_http_v1" {
        "send" fn http_send(ptr: *const u8, len: usize) -> i32;
        "head" fn http_head(handle: i32, buf: *mut u8, cap: usize) -> i32;
        "read" fn http_read(handle: i32, buf: *mut u8, cap: usize) -> i32;
        "close" fn http_close(handle: i32) -> i32;
    }
    "reshost_kv_v1" {
        "get" fn kv_get(key: *const u8, klen: usize, buf: *mut u8, cap: usize) -> i32;
        "put" fn kv_put(key: *const u8, klen: usize, val: *const u8, vlen: usize, ttl_ms: i64) -> i32;
        "del" fn kv_del(key: *const u8, klen: usize) -> i32;
    }
}
