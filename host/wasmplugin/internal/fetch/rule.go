package fetch

import (
	"fmt"
	"slices"
	"strings"
)

// Rule allows some requests.
type Rule struct {
	// Methods in upper case. Empty: GET and HEAD.
	Methods []string
	// URL is a prefix: its path covers itself and what is below it, at a '/'.
	URL string
	// Headers are sent with each request of the rule, by name.
	Headers map[string]Header
}

// Header is a header's value that the operator gives.
type Header struct {
	Value string
	// Secrets are the parts of Value that nobody else may see.
	Secrets []string
}

// rule is a Rule that was checked.
type rule struct {
	Rule
	target *target
}

func compileRule(r Rule) (*rule, error) {
	t, err := parseTarget(r.URL)
	if err != nil {
		return nil, fmt.Errorf("url %.200q: %w", r.URL, err)
	}
	if t.query != "" {
		return nil, fmt.Errorf("url %.200q: a prefix has no query", r.URL)
	}
	if len(r.Methods) == 0 {
		r.Methods = []string{"GET", "HEAD"}
	}
	for _, m := range r.Methods {
		if !isToken(m) || m != strings.ToUpper(m) || m == "CONNECT" || m == "TRACE" {
			return nil, fmt.Errorf("method %.40q: want one such as GET or POST, in upper case, neither CONNECT nor TRACE", m)
		}
	}
	seen := map[string]bool{}
	for name, h := range r.Headers {
		fold := foldName(name)
		switch {
		case !isToken(name) || framing(fold):
			return nil, fmt.Errorf("header %.80q: it cannot be given, or is no header's name", name)
		case seen[fold]:
			return nil, fmt.Errorf("header %.80q: given twice", name)
		case !isValue(h.Value):
			return nil, fmt.Errorf("header %.80q: its value is empty or holds a line end or another control character", name)
		}
		seen[fold] = true
	}
	return &rule{r, t}, nil
}

// covers reports whether a request is the rule's.
func (r *rule) covers(method string, t *target) bool {
	p := r.target
	if t.scheme != p.scheme || t.host != p.host || t.port != p.port || !slices.Contains(r.Methods, method) {
		return false
	}
	rest, ok := strings.CutPrefix(t.path, p.path)
	return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(p.path, "/"))
}

// sets reports whether the rule gives a header.
func (r *rule) sets(fold string) bool {
	for name := range r.Headers {
		if foldName(name) == fold {
			return true
		}
	}
	return false
}

// foldName is a header's name as servers compare it: those that pass headers on as variables make no difference of '-' and '_'.
func foldName(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }

// framing reports whether a header says how the message is delivered: nobody but the client sets those.
func framing(fold string) bool {
	switch fold {
	case "host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "content-length", "expect", "accept-encoding":
		return true
	}
	return strings.HasPrefix(fold, "proxy-")
}

// reserved reports whether a header is not a plugin's to set: it frames, it identifies somebody, or it asks a server to see
// another request than the one that was allowed.
func reserved(fold string) bool {
	switch fold {
	case "authorization", "cookie", "cookie2", "forwarded", "via", "x-real-ip", "x-http-method", "x-http-method-override", "x-method-override",
		"x-original-url", "x-rewrite-url":
		return true
	}
	return framing(fold) || strings.HasPrefix(fold, "x-forwarded-") || strings.HasPrefix(fold, "sec-")
}

// isToken is the token of RFC 9110 section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != "" && len(s) <= 256
}

func isValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return s != ""
}
