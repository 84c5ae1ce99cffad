package httpd

import (
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// ParseOrigin returns the normal form of a web origin (RFC 6454): scheme and host in lower case, no default port.
func ParseOrigin(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil {
		return "", fmt.Errorf("origin %q: %w", s, err)
	}
	scheme := strings.ToLower(u.Scheme)
	if (scheme != "http" && scheme != "https") || u.Hostname() == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || strings.HasSuffix(s, "#") || strings.HasSuffix(s, "?") {
		return "", fmt.Errorf("origin %q: it must be http:// or https:// with a host, and nothing after it", s)
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if (scheme == "http" && port == "80") || (scheme == "https" && port == "443") || port == "" {
		return scheme + "://" + host, nil
	}
	return scheme + "://" + host + ":" + port, nil
}

func originSet(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		if o, err := ParseOrigin(s); err == nil {
			set[o] = true
		}
	}
	return set
}

func hostSet(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[strings.ToLower(strings.Trim(s, "[]"))] = true
	}
	return set
}

// checkHost checks the Host header. A web page whose name was made to point at this machine sends that name here. known says
// that the name is one of ours, and not merely one that nothing speaks against.
func (h *Handler) checkHost(r *http.Request) (allowed, known bool) {
	host, ok := hostName(r.Host)
	if !ok {
		return false, false
	}
	if len(h.hosts) == 0 && !toLoopback(r) {
		return true, false
	}
	if len(h.hosts) > 0 {
		return h.hosts[host], h.hosts[host]
	}
	if host == "localhost" {
		return true, true
	}
	addr, err := netip.ParseAddr(host)
	loopback := err == nil && addr.IsLoopback()
	return loopback, loopback
}

// hostName returns the name in a Host header, in lower case and without brackets; false where the value is not a name or an
// address, alone or with a port (RFC 3986 section 3.2). HTTP/1.0 has none.
func hostName(value string) (name string, ok bool) {
	name, port := value, ""
	if rest, found := strings.CutPrefix(value, "["); found {
		if name, port, ok = strings.Cut(rest, "]"); !ok {
			return "", false
		}
		if addr, err := netip.ParseAddr(name); err != nil || !addr.Is6() {
			return "", false
		}
		if port != "" {
			if port, ok = strings.CutPrefix(port, ":"); !ok {
				return "", false
			}
		}
	} else {
		name, port, _ = strings.Cut(value, ":")
		if strings.ContainsAny(name, "[]") || (name == "" && value != "") {
			return "", false
		}
	}
	if port != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return "", false
		}
	}
	return strings.ToLower(name), true
}

// toLoopback reports whether the connection came in on a loopback address.
func toLoopback(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && addr.IP.IsLoopback()
}

// checkOrigin checks the Origin header (rule H4) and, where it is allowed, lets the page's script see the answer. It is the
// same for every method, and comes before anything else could tell a foreign page something. A page of this very host and
// port may call when the host is known to be ours; one of another port may not.
func (h *Handler) checkOrigin(header http.Header, r *http.Request, known bool) bool {
	lines := r.Header["Origin"]
	if len(h.origins) > 0 {
		header.Set("Vary", "Origin")
	}
	if len(lines) == 0 {
		return true
	}
	origin, err := ParseOrigin(lines[0])
	if len(lines) > 1 || err != nil {
		return false
	}
	if !h.origins[origin] {
		return known && ownOrigin(origin, r.Host)
	}
	// The origin itself and never "*", and no Access-Control-Allow-Credentials: nobody's cookies are asked for.
	header.Set("Access-Control-Allow-Origin", lines[0])
	header.Set("Access-Control-Expose-Headers", "WWW-Authenticate, Retry-After, Mcp-Session-Id")
	return true
}

// ownOrigin reports whether an origin is that of a host with its port, whichever scheme a proxy in front may speak.
func ownOrigin(origin, host string) bool {
	for _, scheme := range []string{"http://", "https://"} {
		if own, err := ParseOrigin(scheme + host); err == nil && own == origin {
			return true
		}
	}
	return false
}

// options answers OPTIONS: a browser's preflight, which carries no credentials, or a plain one.
func (x *exchange) options() {
	header := x.w.Header()
	if len(x.h.origins) == 0 {
		x.methodNotAllowed() // no page may call
		return
	}
	header.Set("Allow", x.h.allow())
	if x.r.Header.Get("Origin") != "" {
		header.Set("Access-Control-Allow-Methods", x.h.allow())
		header.Set("Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID")
		header.Set("Access-Control-Max-Age", "600")
	}
	x.w.WriteHeader(http.StatusNoContent)
}

// contentTypeOK reports whether the body is JSON in UTF-8 and comes as it is. "text/plain" and no type at all are
// refused: a web page could send those without asking first.
func contentTypeOK(h http.Header) bool {
	lines := h["Content-Type"]
	if len(lines) != 1 {
		return false
	}
	for _, e := range h["Content-Encoding"] {
		if !strings.EqualFold(e, "identity") {
			return false
		}
	}
	if lines[0] == "application/json" {
		return true
	}
	kind, params, err := mime.ParseMediaType(lines[0])
	if err != nil || kind != "application/json" {
		return false
	}
	charset, ok := params["charset"]
	return !ok || strings.EqualFold(charset, "utf-8")
}

// accept is which forms of answer a client takes (rule H2).
type accept struct{ json, events bool }

// parseAccept reads the Accept header (RFC 9110 section 12.5.1). A wildcard over all or all of application counts as both
// forms, and so does no header at all: clients send those that mean just that.
func parseAccept(lines []string) accept {
	if len(lines) == 1 && lines[0] == "application/json, text/event-stream" {
		return accept{true, true}
	}
	var a accept
	given := false
	var denied accept
	for _, line := range lines {
		for part := range strings.SplitSeq(line, ",") {
			kind, params, _ := strings.Cut(part, ";")
			kind = strings.ToLower(strings.TrimSpace(kind))
			if kind == "" {
				continue
			}
			given = true
			zero := zeroQuality(params)
			json := kind == "application/json"
			events := kind == "text/event-stream"
			if zero {
				denied.json, denied.events = denied.json || json, denied.events || events
				continue
			}
			wild := kind == "*/*" || kind == "application/*"
			a.json = a.json || json || wild
			a.events = a.events || events || wild || kind == "text/*"
		}
	}
	if !given {
		return accept{true, true}
	}
	return accept{json: a.json && !denied.json, events: a.events && !denied.events}
}

// zeroQuality reports whether a range's parameters say q=0: not acceptable.
func zeroQuality(params string) bool {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return err == nil && q <= 0
		}
	}
	return false
}
