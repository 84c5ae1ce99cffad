use alloc::string::String;

/// Percent-encodes `s` for one segment of a URI, as a template's `{name}` does: everything but letters, digits and `-._~`.
pub fn escape_segment(s: &str) -> String {
    escape(s, "")
}

/// Percent-encodes `s` for a path of several segments, to be matched by a template's `{+name}`: `/` and the other characters
/// that a path may hold stay as they are.
pub fn escape_path(s: &str) -> String {
    escape(s, "!$&'()*+,;=:@/")
}

fn escape(s: &str, keep: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(s.len());
    for &b in s.as_bytes() {
        if b.is_ascii_alphanumeric() || b"-._~".contains(&b) || keep.as_bytes().contains(&b) {
            out.push(b as char);
        } else {
            out.push('%');
            out.push(HEX[(b >> 4) as usize] as char);
            out.push(HEX[(b & 15) as usize] as char);
        }
    }
    out
}
