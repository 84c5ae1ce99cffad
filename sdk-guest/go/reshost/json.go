package reshost

import "unicode/utf8"

// JSON writes a JSON text. It puts the commas; the caller sees to it that Begin and End match and that each member of an
// object is a Key and a value. The zero value is empty and ready.
//
//	var j reshost.JSON
//	j.BeginObject()
//	j.Key("name").String("a.md")
//	j.Key("size").Int(12)
//	j.EndObject()
//	return out.JSON(j.Bytes())
//
// Its methods are not inlined: the manifest writer calls them at a hundred places, and each copy would add to the guest.
type JSON struct {
	buf []byte
	// more says that a value ended last, so that the next one needs a comma.
	more bool
}

// Bytes returns the text so far. It is valid until the next call.
func (j *JSON) Bytes() []byte { return j.buf }

// Reset empties the text and keeps its memory.
func (j *JSON) Reset() { j.buf, j.more = j.buf[:0], false }

// BeginObject writes '{'.
func (j *JSON) BeginObject() *JSON { return j.begin('{') }

// EndObject writes '}'.
func (j *JSON) EndObject() *JSON { return j.end('}') }

// BeginArray writes '['.
func (j *JSON) BeginArray() *JSON { return j.begin('[') }

// EndArray writes ']'.
func (j *JSON) EndArray() *JSON { return j.end(']') }

// Key writes the name of an object's member; its value comes next.
//
//go:noinline
func (j *JSON) Key(name string) *JSON {
	j.comma()
	j.buf = append(appendQuoted(j.buf, name), ':')
	j.more = false
	return j
}

// String writes a string. Bytes that are not UTF-8 become U+FFFD.
//
//go:noinline
func (j *JSON) String(s string) *JSON {
	j.comma()
	j.buf = appendQuoted(j.buf, s)
	return j
}

// Int writes a whole number.
func (j *JSON) Int(n int64) *JSON {
	j.comma()
	j.buf = appendInt(j.buf, n)
	return j
}

// Bool writes true or false.
//
//go:noinline
func (j *JSON) Bool(b bool) *JSON {
	if b {
		return j.Raw("true")
	}
	return j.Raw("false")
}

// Time writes a time, given in milliseconds since 1970 in UTC, as a string in ISO 8601, to the second: the form of
// lastModified.
func (j *JSON) Time(millis int64) *JSON {
	j.comma()
	j.buf = append(appendTimestamp(append(j.buf, '"'), millis), '"')
	return j
}

// Null writes null.
func (j *JSON) Null() *JSON { return j.Raw("null") }

// Raw writes a value that is JSON text already, such as a fraction.
//
//go:noinline
func (j *JSON) Raw(value string) *JSON {
	j.comma()
	j.buf = append(j.buf, value...)
	return j
}

//go:noinline
func (j *JSON) begin(c byte) *JSON {
	j.comma()
	j.buf = append(j.buf, c)
	j.more = false
	return j
}

//go:noinline
func (j *JSON) end(c byte) *JSON {
	j.buf = append(j.buf, c)
	j.more = true
	return j
}

// comma separates the value that begins from one before it.
//
//go:noinline
func (j *JSON) comma() {
	if j.more {
		j.buf = append(j.buf, ',')
	}
	j.more = true
}

func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= 0x20 && c < utf8.RuneSelf:
			b = append(b, c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hexUpper[c>>4], hexUpper[c&15])
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += n
			continue
		}
		i++
	}
	return append(b, '"')
}

// quote returns s as a JSON string, for messages.
//
//go:noinline
func quote(s string) string { return string(appendQuoted(nil, s)) }

func itoa(n int64) string { return string(appendInt(nil, n)) }

//go:noinline
func appendInt(b []byte, n int64) []byte {
	u := uint64(n)
	if n < 0 {
		b = append(b, '-')
		u = -u
	}
	var digits [20]byte
	i := len(digits)
	for {
		i--
		digits[i] = byte('0' + u%10)
		if u /= 10; u == 0 {
			return append(b, digits[i:]...)
		}
	}
}
