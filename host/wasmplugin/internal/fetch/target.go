package fetch

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// maxURL bounds a URL, in bytes.
const maxURL = 8 << 10

// target is a URL in the one form that rules are compared in, and that is sent: what is compared is what is fetched.
type target struct {
	scheme string // http or https
	host   string // lower case, without a dot at its end; an IPv6 address has no brackets
	port   string // never empty
	path   string // begins with '/'; its triplets are upper case and none stands for an unreserved character
	query  string // with its '?', or empty
}

// origin returns scheme://host:port.
func (t *target) origin() string { return t.scheme + "://" + net.JoinHostPort(t.host, t.port) }

// authority returns host and port, without the scheme's own port.
func (t *target) authority() string {
	if t.port != defaultPort(t.scheme) {
		return net.JoinHostPort(t.host, t.port)
	}
	if strings.Contains(t.host, ":") {
		return "[" + t.host + "]"
	}
	return t.host
}

func (t *target) String() string { return t.scheme + "://" + t.authority() + t.path + t.query }

func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// parseTarget reads a URL strictly. What two programs could read in two ways is refused, not repaired: user information,
// dot segments in any encoding, numbers that only some take for addresses.
func parseTarget(text string) (*target, error) {
	if len(text) > maxURL {
		return nil, tooLarge("a URL of %d bytes, more than %d", len(text), maxURL)
	}
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\\\"<>^`{|}#", c) >= 0 {
			return nil, invalid("the URL holds %q, which must be percent-encoded (a fragment is never sent)", c)
		}
	}
	scheme, rest, ok := strings.Cut(text, "://")
	t := &target{scheme: strings.ToLower(scheme)}
	if !ok || t.scheme != "http" && t.scheme != "https" {
		return nil, invalid("the URL does not begin with http:// or https://")
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	if err := t.readAuthority(rest[:end]); err != nil {
		return nil, err
	}
	path, query, hasQuery := strings.Cut(rest[end:], "?")
	if hasQuery {
		if _, ok := normalise(query); !ok {
			return nil, invalid("the URL has a '%%' that begins no triplet")
		}
		t.query = "?" + query
	}
	if path == "" {
		path = "/"
	}
	if t.path, ok = normalise(path); !ok {
		return nil, invalid("the URL has a '%%' that begins no triplet")
	}
	if steps(t.path) {
		return nil, invalid("the URL's path has a dot segment or a control character, in some encoding")
	}
	return t, nil
}

func (t *target) readAuthority(text string) error {
	if strings.Contains(text, "@") {
		return invalid("the URL has user information")
	}
	host, port := text, ""
	if strings.HasPrefix(text, "[") {
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return invalid("the URL's host has no ']'")
		}
		a, err := netip.ParseAddr(text[1:end])
		if err != nil || !a.Is6() || a.Zone() != "" {
			return invalid("the URL's host is not an IPv6 address without a zone")
		}
		host, port = a.Unmap().String(), text[end+1:]
	} else if i := strings.IndexByte(text, ':'); i >= 0 {
		host, port = text[:i], text[i:]
	}
	if !strings.HasPrefix(text, "[") {
		host = strings.ToLower(strings.TrimSuffix(host, "."))
		if !isHost(host) {
			return invalid("the URL's host is no name and no address in its usual form")
		}
	}
	t.host, t.port = host, defaultPort(t.scheme)
	if port != "" && port != ":" {
		n, err := strconv.ParseUint(strings.TrimPrefix(port, ":"), 10, 16)
		if err != nil || n == 0 || port[0] != ':' {
			return invalid("the URL's port is not a number from 1 to 65535")
		}
		t.port = strconv.FormatUint(n, 10)
	}
	return nil
}

// isHost reports whether s is a host's name, or an IPv4 address of four decimal numbers. A name whose last label begins with
// a digit is an address to some resolvers: 127.1, 0x7f.1, 2130706433.
func isHost(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	labels := strings.Split(s, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 {
			return false
		}
		for i := range len(l) {
			if c := l[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	if last := labels[len(labels)-1]; last[0] >= '0' && last[0] <= '9' {
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is4()
	}
	return true
}

// normalise writes triplets in upper case, and those of unreserved characters as the characters (RFC 3986 section 6.2.2).
func normalise(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		c, ok := triplet(s[i:])
		if !ok {
			return "", false
		}
		if c == '-' || c == '.' || c == '_' || c == '~' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' {
			b.WriteByte(c)
		} else {
			b.WriteString(strings.ToUpper(s[i : i+3]))
		}
		i += 2
	}
	return b.String(), true
}

func triplet(s string) (byte, bool) {
	if len(s) < 3 {
		return 0, false
	}
	n, err := strconv.ParseUint(s[1:3], 16, 8)
	return byte(n), err == nil
}

// steps reports whether a server could find a dot segment or a control character in a path, however often it decodes, with '\'
// for '/', and with parameters behind ';' cut off.
func steps(path string) bool {
	for {
		for i := range len(path) {
			if path[i] < ' ' || path[i] == 0x7f {
				return true
			}
		}
		for _, segment := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' }) {
			if name, _, _ := strings.Cut(segment, ";"); name == "." || name == ".." {
				return true
			}
		}
		next := decodeOnce(path)
		if next == path {
			return false
		}
		path = next
	}
}

func decodeOnce(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c, ok := triplet(s[i:]); s[i] == '%' && ok {
			b.WriteByte(c)
			i += 2
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
