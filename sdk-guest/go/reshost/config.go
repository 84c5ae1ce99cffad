package reshost

import (
	"strconv"

	"github.com/reshost/reshost/abi"
)

// Config reads the operator's config for this plugin, a JSON object, value by value. A value is named by a JSON Pointer
// (RFC 6901) such as "/title" or "/sources/0/url"; [Pointer] builds one from names that come from elsewhere.
//
// A method's def is what it returns when the value is absent. A value of another kind is an [Error] that names the pointer
// and is fit to return from [Plugin.Init].
type Config struct{ h host }

// Raw returns a value: a string, number, boolean or null as plain text, an array or object as JSON text.
func (c Config) Raw(pointer string) (value string, ok bool) {
	var small [256]byte
	buf := small[:]
	for {
		n := c.h.configGet(pointer, buf)
		if n < 0 {
			return "", false
		}
		if n <= len(buf) {
			return string(buf[:n]), true
		}
		buf = make([]byte, n)
	}
}

// String returns a value as text.
func (c Config) String(pointer, def string) string {
	if s, ok := c.Raw(pointer); ok {
		return s
	}
	return def
}

// Int returns a whole number.
func (c Config) Int(pointer string, def int64) (int64, error) {
	s, ok := c.Raw(pointer)
	if !ok {
		return def, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, Invalid("config " + pointer + ": want a whole number, got " + quote(s))
	}
	return n, nil
}

// Bool returns true or false.
func (c Config) Bool(pointer string, def bool) (bool, error) {
	s, ok := c.Raw(pointer)
	switch {
	case !ok:
		return def, nil
	case s == "true":
		return true, nil
	case s == "false":
		return false, nil
	}
	return false, Invalid("config " + pointer + ": want true or false, got " + quote(s))
}

// OneOf returns a value that must be one of those allowed. def is what it is when absent.
func (c Config) OneOf(pointer, def string, allowed ...string) (string, error) {
	s := c.String(pointer, def)
	text := "config " + pointer + ": got " + quote(s) + ", want one of"
	for _, a := range allowed {
		if s == a {
			return s, nil
		}
		text += " " + quote(a)
	}
	return "", Invalid(text)
}

// Strings returns the elements of an array as text; nil when it is absent.
func (c Config) Strings(pointer string) []string {
	var list []string
	for i := 0; ; i++ {
		s, ok := c.Raw(pointer + "/" + strconv.Itoa(i))
		if !ok {
			return list
		}
		list = append(list, s)
	}
}

// Root returns the URI path prefix of the granted folder name, such as "/srv/docs", and whether it is granted.
func (c Config) Root(name string) (prefix string, ok bool) {
	return c.Raw(abi.ConfigRoots + escapeToken(name))
}

// Pointer returns the JSON Pointer to the value under these names, outermost first.
func Pointer(names ...string) string {
	p := ""
	for _, n := range names {
		p += "/" + escapeToken(n)
	}
	return p
}

// escapeToken escapes a reference token (RFC 6901 section 3).
func escapeToken(s string) string {
	b := make([]byte, 0, len(s)+2)
	for i := range len(s) {
		switch s[i] {
		case '~':
			b = append(b, "~0"...)
		case '/':
			b = append(b, "~1"...)
		default:
			b = append(b, s[i])
		}
	}
	return string(b)
}
