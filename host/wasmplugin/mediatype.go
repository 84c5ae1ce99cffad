package wasmplugin

import (
	"mime"
	"strings"

	"github.com/reshost/reshost/abi"
)

// maxMediaType bounds a media type, in bytes.
const maxMediaType = 255

// validMediaType reports whether s is a media type with optional parameters (RFC 2045 section 5.1, RFC 6838 section 4.2).
func validMediaType(s string) bool {
	if len(s) > maxMediaType || !printable(s) {
		return false
	}
	t, _, err := mime.ParseMediaType(s)
	if err != nil {
		return false
	}
	major, minor, ok := strings.Cut(t, "/")
	return ok && restrictedName(major) && restrictedName(minor)
}

// restrictedName is the rule of the same name of RFC 6838.
func restrictedName(s string) bool {
	if s == "" || len(s) > 127 || !isAlnum(s[0]) {
		return false
	}
	for i := range len(s) {
		if !isAlnum(s[i]) && strings.IndexByte("!#$&-^_.+", s[i]) < 0 {
			return false
		}
	}
	return true
}

// validETag reports whether s is fit for an etag.
func validETag(s string) bool { return len(s) <= abi.MaxETag && printable(s) }

// printable reports whether s is printable ASCII.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}
