package meter

import "unicode/utf8"

// reader decodes a part of a module. It keeps the first error and answers
// zeros after it, so that callers check once per item; pos is always an
// offset into the whole file.
type reader struct {
	buf []byte // the whole module
	pos int
	end int // one past the last byte that may be read
	err *Error
}

func (r *reader) ok() bool { return r.err == nil }

func (r *reader) len() int { return r.end - r.pos }

// fail keeps the first error and makes every later read answer zero.
func (r *reader) fail(offset int, format string, args ...any) {
	if r.err == nil {
		r.err = errorAt(offset, format, args...)
	}
	r.pos = r.end
}

func (r *reader) byte() byte {
	if r.pos >= r.end {
		r.fail(r.pos, "unexpected end")
		return 0
	}
	b := r.buf[r.pos]
	r.pos++
	return b
}

// bytes returns the next n bytes of the module itself, not a copy.
func (r *reader) bytes(n int) []byte {
	if n < 0 || n > r.len() {
		r.fail(r.pos, "%d bytes announced, %d left", n, r.len())
		return nil
	}
	b := r.buf[r.pos : r.pos+n]
	r.pos += n
	return b
}

// sub is a reader for the next n bytes, which r skips. The two share no error.
func (r *reader) sub(n int) reader {
	s := reader{buf: r.buf, pos: r.pos, end: r.pos}
	r.bytes(n)
	if s.err = r.err; s.err == nil {
		s.end = r.pos
	}
	return s
}

// u32 reads an unsigned LEB128 of at most five bytes.
func (r *reader) u32() uint32 {
	if r.pos < r.end && r.buf[r.pos] < 0x80 {
		r.pos++
		return uint32(r.buf[r.pos-1])
	}
	start := r.pos
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		if r.err != nil {
			return 0
		}
		if shift == 28 && b > 0x0f {
			break
		}
		v |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	r.fail(start, "integer does not fit 32 bits")
	return 0
}

func (r *reader) s32() int32 { return int32(r.signed(32)) }
func (r *reader) s33() int64 { return r.signed(33) }
func (r *reader) s64() int64 { return r.signed(64) }

// signed reads a signed LEB128 of the given width. The unused bits of a last
// byte must repeat the sign.
func (r *reader) signed(bits int) int64 {
	start := r.pos
	var v int64
	for shift := 0; shift < bits; shift += 7 {
		b := r.byte()
		if r.err != nil {
			return 0
		}
		v |= int64(b&0x7f) << shift
		if left := bits - shift; left < 7 {
			top := int8(b<<1) >> left // the sign bit of the value and all above it
			if b >= 0x80 || (top != 0 && top != -1) {
				break
			}
		}
		if b < 0x80 {
			if n := shift + 7; n < 64 {
				v = v << (64 - n) >> (64 - n)
			}
			return v
		}
	}
	r.fail(start, "integer does not fit %d bits", bits)
	return 0
}

// count reads the length of a vector whose items take at least size bytes
// each, so that nothing is allocated that the module does not carry.
func (r *reader) count(what string, limit, size int) int {
	start := r.pos
	n := int(r.u32())
	if r.err != nil {
		return 0
	}
	if n < 0 || n > limit {
		r.limit(start, what, n, limit)
		return 0
	}
	if size > 0 && n > r.len()/size {
		r.fail(start, "%d %s announced, %d bytes left", n, what, r.len())
		return 0
	}
	return n
}

// limit records that something is over one of the package's limits.
func (r *reader) limit(offset int, what string, have, limit int) {
	if r.err == nil {
		r.err = &Error{Offset: offset, Reason: what, Have: have, Limit: limit}
	}
	r.pos = r.end
}

// name reads a length-prefixed UTF-8 string.
func (r *reader) name(what string) string {
	start := r.pos
	b := r.bytes(int(r.u32()))
	if !utf8.Valid(b) {
		r.fail(start, "%s is not UTF-8", what)
		return ""
	}
	return string(b)
}

// done checks that a section or body was read to its end.
func (r *reader) done(what string) {
	if r.err == nil && r.pos != r.end {
		r.fail(r.pos, "%d bytes left over in %s", r.len(), what)
	}
}

func appendU32(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func appendS64(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && c&0x40 == 0) || (v == -1 && c&0x40 != 0) {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func appendName(b []byte, s string) []byte {
	return append(appendU32(b, uint32(len(s))), s...)
}

// appendSection writes a section's id, size and body.
func appendSection(b []byte, id byte, body []byte) []byte {
	return append(appendU32(append(b, id), uint32(len(body))), body...)
}
