use alloc::string::{String, ToString};

/// Writes a JSON text. It puts the commas; the caller sees to it that `begin` and `end` match and that each member of an
/// object is a key and a value.
///
/// ```
/// let mut j = reshost::Json::new();
/// j.begin_object().key("name").string("a.md").key("size").int(12).end_object();
/// assert_eq!(j.as_str(), r#"{"name":"a.md","size":12}"#);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Json {
    text: String,
    /// A value ended last, so that the next one needs a comma.
    more: bool,
}

impl Json {
    /// An empty text.
    pub fn new() -> Self {
        Self::default()
    }

    /// The text so far.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Writes `{`.
    pub fn begin_object(&mut self) -> &mut Self {
        self.begin('{')
    }

    /// Writes `}`.
    pub fn end_object(&mut self) -> &mut Self {
        self.end('}')
    }

    /// Writes `[`.
    pub fn begin_array(&mut self) -> &mut Self {
        self.begin('[')
    }

    /// Writes `]`.
    pub fn end_array(&mut self) -> &mut Self {
        self.end(']')
    }

    /// Writes the name of an object's member; its value comes next.
    pub fn key(&mut self, name: &str) -> &mut Self {
        self.string(name);
        self.text.push(':');
        self.more = false;
        self
    }

    /// Writes a string.
    pub fn string(&mut self, s: &str) -> &mut Self {
        self.comma();
        quote(&mut self.text, s);
        self
    }

    /// Writes a whole number.
    pub fn int(&mut self, n: i64) -> &mut Self {
        self.raw(&n.to_string())
    }

    /// Writes true or false.
    pub fn bool(&mut self, b: bool) -> &mut Self {
        self.raw(if b { "true" } else { "false" })
    }

    /// Writes null.
    pub fn null(&mut self) -> &mut Self {
        self.raw("null")
    }

    /// Writes a value that is JSON text already.
    pub fn raw(&mut self, value: &str) -> &mut Self {
        self.comma();
        self.text.push_str(value);
        self
    }

    fn begin(&mut self, c: char) -> &mut Self {
        self.comma();
        self.text.push(c);
        self.more = false;
        self
    }

    fn end(&mut self, c: char) -> &mut Self {
        self.text.push(c);
        self.more = true;
        self
    }

    fn comma(&mut self) {
        if self.more {
            self.text.push(',');
        }
        self.more = true;
    }
}

fn quote(out: &mut String, s: &str) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            c if c < ' ' => {
                out.push_str(if c < '\x10' { "\\u000" } else { "\\u001" });
                out.push(core::char::from_digit(c as u32 & 15, 16).unwrap_or('0'));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
