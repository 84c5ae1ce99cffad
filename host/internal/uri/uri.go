package uri

import "strings"

// MaxLen is how long a URI may be, in bytes, as it comes and as it is normalised.
const MaxLen = 8 << 10

// URI is an absolute URI in normal form. It is made by [Parse]; its fields are for reading.
type URI struct {
	// Scheme is lower case.
	Scheme string
	// Authority stands between "//" and the path; its case is the sender's. It is empty and HasAuthority set in
	// "file:///a".
	Authority    string
	HasAuthority bool
	// Path is percent-encoded and holds no dot segments.
	Path string
	// Query is percent-encoded and stands after "?". It is empty and HasQuery set in "docs://a?".
	Query    string
	HasQuery bool

	text string // the whole
}

// Parse normalises s, which must be an absolute URI (RFC 3986 section 3) of at most [MaxLen] bytes without fragment or
// userinfo. Its errors are of type [Error].
func Parse(s string) (URI, error) {
	text, err := normalise(s)
	if err != nil {
		return URI{}, err
	}
	u := split(text)
	if strings.IndexByte(u.Authority, '@') >= 0 {
		return URI{}, ErrUserinfo
	}
	if hasDotSegment(u.Path) {
		return URI{}, ErrDotSegment
	}
	if u.Scheme == "file" && len(u.Authority) == len("localhost") && strings.EqualFold(u.Authority, "localhost") {
		u.Authority = ""
		u.text = u.join()
	}
	return u, nil
}

// String returns the URI in normal form.
func (u URI) String() string { return u.text }

// FoldAuthority returns u with its host in lower case. Userinfo and the hex digits of percent-encodings keep theirs.
func (u URI) FoldAuthority() URI {
	host := strings.LastIndexByte(u.Authority, '@') + 1
	folded := lowerHost(u.Authority[host:])
	if folded == u.Authority[host:] {
		return u
	}
	u.Authority = u.Authority[:host] + folded
	u.text = u.join()
	return u
}

func (u *URI) join() string {
	n := len(u.Scheme) + len(":") + len(u.Path)
	if u.HasAuthority {
		n += len("//") + len(u.Authority)
	}
	if u.HasQuery {
		n += len("?") + len(u.Query)
	}
	var b strings.Builder
	b.Grow(n)
	b.WriteString(u.Scheme)
	b.WriteByte(':')
	if u.HasAuthority {
		b.WriteString("//")
		b.WriteString(u.Authority)
	}
	b.WriteString(u.Path)
	if u.HasQuery {
		b.WriteByte('?')
		b.WriteString(u.Query)
	}
	return b.String()
}

// split cuts a normalised URI into its components (RFC 3986 appendix B). None of them is copied.
func split(text string) URI {
	colon := strings.IndexByte(text, ':')
	u := URI{Scheme: text[:colon], text: text}
	rest := text[colon+1:]
	if strings.HasPrefix(rest, "//") {
		end := authorityEnd(rest, 2)
		u.Authority, u.HasAuthority = rest[2:end], true
		rest = rest[end:]
	}
	u.Path, u.Query, u.HasQuery = strings.Cut(rest, "?")
	return u
}

// authorityEnd returns where the authority that starts at s[from] ends.
func authorityEnd(s string, from int) int {
	for i := from; i < len(s); i++ {
		if c := s[i]; c == '/' || c == '?' || c == '#' {
			return i
		}
	}
	return len(s)
}

// hasDotSegment reports whether a segment of path is "." or "..".
func hasDotSegment(path string) bool {
	for i := 0; i < len(path); {
		dot := strings.IndexByte(path[i:], '.')
		if dot < 0 {
			return false
		}
		i += dot
		end := i + 1
		if end < len(path) && path[end] == '.' {
			end++
		}
		if (i == 0 || path[i-1] == '/') && (end == len(path) || path[end] == '/') {
			return true
		}
		i = end
	}
	return false
}

// lowerHost folds ASCII letters outside percent-encodings.
func lowerHost(s string) string {
	dirty := false
	for i := 0; i < len(s); i++ {
		if s[i] == '%' {
			i += 2
		} else if 'A' <= s[i] && s[i] <= 'Z' {
			dirty = true
			break
		}
	}
	if !dirty {
		return s
	}
	b := []byte(s)
	for i := 0; i < len(b); i++ {
		if b[i] == '%' {
			i += 2
		} else if 'A' <= b[i] && b[i] <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}
