//! The folders that the operator granted: capability `fs`. A path begins with the name of a granted root and has no leading
//! slash: `main/guide/a.md`. Nothing outside the roots, hidden or special can be reached.

use crate::abi;
use crate::call::fetch;
use crate::error::{Code, Error, Result};
use crate::read::Response;
use crate::wire::{take_varint, Fields};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// How much of a file or folder is asked for at once.
const CHUNK: usize = 64 << 10;

/// Describes a file or folder.
#[derive(Clone, Debug)]
pub struct FileInfo {
    /// The last element of the path.
    pub name: String,
    /// A folder; there is nothing else but files.
    pub dir: bool,
    /// In bytes; 0 for a folder.
    pub size: u64,
    /// When it last changed, in nanoseconds since 1970 in UTC; 0: unknown.
    pub mtime_ns: u64,
    /// Changes with the content: fit for [`Response::set_etag`].
    pub version: String,
    /// The name is a symbolic link; all else is what it leads to. Do not enter linked folders when walking a tree.
    pub link: bool,
}

impl FileInfo {
    fn decode(b: &[u8]) -> Self {
        let f = Fields(b);
        FileInfo {
            name: f.text(1).to_string(),
            dir: f.uint(2) == 2,
            size: f.uint(3),
            mtime_ns: f.uint(4),
            version: f.text(5).to_string(),
            link: f.uint(6) != 0,
        }
    }
}

/// Describes a file or folder.
pub fn stat(path: &str) -> Result<FileInfo> {
    // SAFETY: the host reads the path and fills the buffer during the call; so everywhere in this module.
    match fetch(|buf, cap| unsafe { abi::fs_stat(path.as_ptr(), path.len(), buf, cap) }) {
        Ok(b) => Ok(FileInfo::decode(&b)),
        Err(status) => Err(fault(status, path)),
    }
}

fn fault(status: i32, path: &str) -> Error {
    Error::check(status, path).err().unwrap_or_else(|| Error::internal(path.to_string()))
}

/// Entries of a folder in byte order of their names: those behind the name `after`, as many as come at once. An empty result is
/// the end.
pub fn list(path: &str, after: &str) -> Result<Vec<FileInfo>> {
    let mut buf: Vec<u8> = Vec::with_capacity(CHUNK);
    loop {
        let n = unsafe {
            abi::fs_list(path.as_ptr(), path.len(), after.as_ptr(), after.len(), buf.as_mut_ptr(), buf.capacity())
        };
        let n = Error::check(n, path)?;
        if n <= buf.capacity() {
            unsafe { buf.set_len(n) };
            break;
        }
        buf.reserve_exact(n);
    }
    let mut rest = &buf[..];
    let mut entries = Vec::new();
    while let Some(n) = take_varint(&mut rest) {
        if n > rest.len() as u64 {
            break;
        }
        let (entry, next) = rest.split_at(n as usize);
        entries.push(FileInfo::decode(entry));
        rest = next;
    }
    Ok(entries)
}

/// The rest of a folder, behind the name `after`. After an error it ends.
pub fn entries(path: &str, after: &str) -> Entries {
    Entries { path: path.to_string(), after: after.to_string(), batch: Vec::new().into_iter(), done: false }
}

/// See [`entries`].
pub struct Entries {
    path: String,
    after: String,
    batch: alloc::vec::IntoIter<FileInfo>,
    done: bool,
}

impl Iterator for Entries {
    type Item = Result<FileInfo>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.batch.len() == 0 && !self.done {
            match list(&self.path, &self.after) {
                Ok(batch) => self.batch = batch.into_iter(),
                Err(e) => {
                    self.done = true;
                    return Some(Err(e));
                }
            }
            self.done = self.batch.len() == 0;
        }
        let info = self.batch.next()?;
        self.after.clone_from(&info.name);
        Some(Ok(info))
    }
}

/// An open file. It lives for one call, which can hold 64 open at once, and is closed when it is dropped.
pub struct File {
    handle: i32,
}

impl File {
    /// Opens a file.
    pub fn open(path: &str) -> Result<Self> {
        let handle = unsafe { abi::fs_open(path.as_ptr(), path.len()) };
        Error::check(handle, path)?;
        Ok(File { handle })
    }

    /// Fills `buf` from an offset, as far as the file goes, and says how far; 0 is the end.
    pub fn read_at(&self, buf: &mut [u8], off: u64) -> Result<usize> {
        let n = unsafe { abi::fs_read(self.handle, off as i64, buf.as_mut_ptr(), buf.len()) };
        Error::check(n, "read")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        unsafe { abi::fs_close(self.handle) };
    }
}

/// Reads a whole file. One that is longer than `limit` bytes is [`Code::TooLarge`].
pub fn read_file(path: &str, limit: u64) -> Result<Vec<u8>> {
    let file = File::open(path)?;
    let mut all = Vec::new();
    let mut buf = alloc::vec![0; CHUNK];
    loop {
        let n = file.read_at(&mut buf, all.len() as u64)?;
        if n == 0 {
            return Ok(all);
        }
        all.extend_from_slice(&buf[..n]);
        if all.len() as u64 > limit {
            return Err(Error::new(Code::TooLarge, alloc::format!("{path} is longer than {limit} bytes")));
        }
    }
}

/// Writes a file's content to the part that `out` began last, in pieces.
pub fn copy_file(out: &mut Response<'_>, path: &str) -> Result<()> {
    let file = File::open(path)?;
    let mut buf = alloc::vec![0; CHUNK];
    let mut off = 0;
    loop {
        let n = file.read_at(&mut buf, off)?;
        if n == 0 {
            return Ok(());
        }
        out.write(&buf[..n])?;
        off += n as u64;
    }
}
