//! Messages: protobuf wire format, varint and bytes fields.

use alloc::vec::Vec;

/// Encoder of one message.
#[derive(Default)]
pub(crate) struct Message(pub Vec<u8>);

impl Message {
    fn varint(&mut self, mut v: u64) {
        while v >= 0x80 {
            self.0.push(v as u8 | 0x80);
            v >>= 7;
        }
        self.0.push(v as u8);
    }

    /// Appends a number, unless it is 0.
    pub fn uint(&mut self, field: u32, v: u64) -> &mut Self {
        if v != 0 {
            self.varint(u64::from(field) << 3);
            self.varint(v);
        }
        self
    }

    /// Appends bytes, empty or not.
    pub fn item(&mut self, field: u32, b: &[u8]) -> &mut Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(b.len() as u64);
        self.0.extend_from_slice(b);
        self
    }

    /// Appends bytes, unless they are empty.
    pub fn bytes(&mut self, field: u32, b: &[u8]) -> &mut Self {
        if !b.is_empty() {
            self.item(field, b);
        }
        self
    }

    /// Appends text, unless it is empty.
    pub fn text(&mut self, field: u32, s: &str) -> &mut Self {
        self.bytes(field, s.as_bytes())
    }
}

/// Value of a field, which is bytes or a number.
#[derive(Clone, Copy)]
pub(crate) enum Value<'a> {
    Uint(u64),
    Bytes(&'a [u8]),
}

/// Fields of a message, in their order; they end at what is malformed.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a>(pub &'a [u8]);

/// Takes a varint off b.
pub(crate) fn take_varint(b: &mut &[u8]) -> Option<u64> {
    let mut v = 0;
    let mut shift = 0;
    loop {
        let (&c, rest) = b.split_first()?;
        *b = rest;
        v |= u64::from(c & 0x7f) << shift;
        if c < 0x80 {
            return Some(v);
        }
        shift += 7;
        if shift > 63 {
            return None;
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let tag = take_varint(&mut self.0)?;
        let n = take_varint(&mut self.0)?;
        let field = (tag >> 3) as u32;
        match tag & 7 {
            0 => Some((field, Value::Uint(n))),
            2 if n <= self.0.len() as u64 => {
                let (b, rest) = self.0.split_at(n as usize);
                self.0 = rest;
                Some((field, Value::Bytes(b)))
            }
            _ => {
                self.0 = &[];
                None
            }
        }
    }
}

impl<'a> Fields<'a> {
    /// Elements of a list.
    pub fn items(self, field: u32) -> impl Iterator<Item = &'a [u8]> {
        self.filter_map(move |(f, v)| match v {
            Value::Bytes(b) if f == field => Some(b),
            _ => None,
        })
    }

    /// Elements of a list of texts.
    pub fn texts(self, field: u32) -> impl Iterator<Item = &'a str> {
        self.items(field).map(text)
    }

    /// A field that is no list: empty when it is absent, the last one when it repeats.
    pub fn bytes(self, field: u32) -> &'a [u8] {
        self.items(field).last().unwrap_or(&[])
    }

    pub fn text(self, field: u32) -> &'a str {
        text(self.bytes(field))
    }

    pub fn uint(self, field: u32) -> u64 {
        let numbers = self.filter_map(|(f, v)| match v {
            Value::Uint(n) if f == field => Some(n),
            _ => None,
        });
        numbers.last().unwrap_or(0)
    }

    /// The value beside a name in paired lists.
    pub fn pair(self, names: u32, values: u32, name: &str) -> Option<&'a str> {
        let mut pairs = self.texts(names).zip(self.texts(values));
        pairs.find(|(n, _)| *n == name).map(|(_, v)| v)
    }
}

/// Text of a message. The host sends UTF-8; anything else counts as empty.
pub(crate) fn text(b: &[u8]) -> &str {
    core::str::from_utf8(b).unwrap_or("")
}
