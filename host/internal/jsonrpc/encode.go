package jsonrpc

import (
	"encoding/binary"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

// AppendRequestHead appends the beginning of a request or notification up to its method, without the closing brace:
// the caller adds `,"params":…` and '}'. A nil id makes a notification.
func AppendRequestHead(dst []byte, id ID, method string) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	if id != nil {
		dst = append(dst, `"id":`...)
		dst = append(dst, id...)
		dst = append(dst, ',')
	}
	dst = append(dst, `"method":`...)
	return AppendString(dst, method)
}

// AppendResultHead appends the beginning of a response; the caller adds a JSON object and '}'.
func AppendResultHead(dst []byte, id ID) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	return append(dst, `,"result":`...)
}

// AppendError appends a whole error response. A nil id is left out: the schema forbids null.
func AppendError(dst []byte, id ID, e *Error) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	if id != nil {
		dst = append(dst, `"id":`...)
		dst = append(dst, id...)
		dst = append(dst, ',')
	}
	dst = append(dst, `"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	dst = append(dst, `,"message":`...)
	dst = AppendString(dst, e.Message)
	if e.Data != nil {
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
	}
	return append(dst, '}', '}')
}

// AppendString appends s as a JSON string. Only what must be escaped is: '<', '>', '&', U+2028 and U+2029 are not. Bytes
// that are not UTF-8 become U+FFFD, so that the message stays valid whatever s is.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	if utf8.ValidString(s) {
		dst = appendEscaped(dst, s)
	} else {
		for i, r := range s {
			if r == utf8.RuneError {
				dst = append(dst, "\uFFFD"...)
				continue
			}
			dst = appendEscaped(dst, s[i:i+utf8.RuneLen(r)])
		}
	}
	return append(dst, '"')
}

// AppendText is [AppendString] for bytes.
func AppendText(dst, s []byte) []byte {
	// The string is read while s cannot change, and not kept.
	return AppendString(dst, unsafe.String(unsafe.SliceData(s), len(s)))
}

// appendEscaped appends valid UTF-8 with what JSON demands escaped.
func appendEscaped(dst []byte, s string) []byte {
	for {
		n := plainLen(s)
		dst = append(dst, s[:n]...)
		if n == len(s) {
			return dst
		}
		switch c := s[n]; c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			const digits = "0123456789abcdef"
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
		s = s[n+1:]
	}
}

// plainLen returns how many bytes of s precede the first that must be escaped. It looks at eight at once: bodies of many
// megabytes pass through here.
func plainLen(s string) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	b := unsafe.Slice(unsafe.StringData(s), len(s))
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote := w ^ ones*'"'
		slash := w ^ ones*'\\'
		// A byte's high bit is set where it is below ' ', or equals the quote or the backslash. Borrows can set it in a byte
		// after a true hit only, and the loop below finds the exact place.
		hit := (w - ones*' ') & ^w
		hit |= (quote - ones) & ^quote
		hit |= (slash - ones) & ^slash
		if hit&highs != 0 {
			break
		}
	}
	for ; i < len(b); i++ {
		if b[i] < ' ' || b[i] == '"' || b[i] == '\\' {
			return i
		}
	}
	return len(b)
}

// AppendCompact appends a JSON value without the white space around its tokens. It reports false, and appends nothing,
// when v is not one valid value by the rules of [Decode].
func AppendCompact(dst, v []byte) ([]byte, bool) {
	s := scanner{data: v}
	s.space()
	if s.value() != nil || s.end() != nil {
		return dst, false
	}
	for i := 0; i < len(v); i++ {
		switch c := v[i]; c {
		case ' ', '\t', '\r', '\n':
		case '"':
			n := stringLen(v[i:])
			dst = append(dst, v[i:i+n]...)
			i += n - 1
		default:
			dst = append(dst, c)
		}
	}
	return dst, true
}

// AppendValidText appends s as a JSON string, like [AppendText], when it is valid UTF-8. Otherwise it appends nothing and
// reports false.
func AppendValidText(dst, s []byte) ([]byte, bool) {
	if !utf8.Valid(s) {
		return dst, false
	}
	dst = append(dst, '"')
	dst = appendEscaped(dst, unsafe.String(unsafe.SliceData(s), len(s)))
	return append(dst, '"'), true
}
