package config

import (
	"encoding/base64"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reshost/reshost/cmd/reshost/internal/webhook"
)

// The kinds of a plugin's source.
const (
	SourceBuiltin = "builtin:"
	SourceFile    = "file:"
)

// ListenUnix begins a listen address that is a socket's path.
const ListenUnix = "unix:"

// MainRoot is the name of the root that the short form of grants.fs makes.
const MainRoot = "main"

// maxURI and maxState are the host's own bounds on limits.uri and limits.state.
const (
	maxURI   = 8 << 10
	maxState = 8 << 10
)

// minQuota is the least quota of a kv store: less holds nothing.
const minQuota = 1 << 10

// maxMissing is the host's bound on cache.missing.
const maxMissing = Duration(time.Minute)

// keySize is the size of a sealing key, in bytes.
const keySize = 32

// checker holds the rules between keys. It runs on a file whose every value has the right type.
type checker struct {
	*collector
	cfg *Config
	env Environment
	dir string
}

func (c *checker) fault(key, format string, args ...any) {
	pos, _ := c.cfg.At(key)
	c.add(pos, key, format, args...)
}

func (c *checker) check() {
	c.server(&c.cfg.Server)
	if c.cfg.Admin != nil {
		c.admin(c.cfg.Admin)
	}
	c.secrets()
	if c.cfg.Limits.URI > maxURI {
		c.fault("limits.uri", "want at most %v, got %v", Bytes(maxURI), c.cfg.Limits.URI)
	}
	if c.cfg.Limits.State > maxState {
		c.fault("limits.state", "want at most %v, got %v", Bytes(maxState), c.cfg.Limits.State)
	}
	for i, k := range c.cfg.Server.Keys {
		if _, err := DecodeKey(k); err != nil && !k.failed {
			c.fault(indexKey("server.keys", i), "%v", err)
		}
	}
	names := make(map[string]int)
	for i := range c.cfg.Plugins {
		p, key := &c.cfg.Plugins[i], indexKey("plugins", i)
		if first, ok := names[p.Name]; ok {
			c.fault(key+".name", "plugins[%d] has the name %q already: give each entry its own", first, p.Name)
		} else {
			names[p.Name] = i
		}
		c.plugin(p, key)
	}
}

func (c *checker) server(s *Server) {
	c.listen(&s.Listen, "server.listen")
	if !strings.HasPrefix(s.Path, "/") || strings.ContainsAny(s.Path, "?#{} ") || path.Clean(s.Path) != s.Path {
		c.fault("server.path", "want a plain path such as /mcp, got %q", clip(s.Path))
	}
	if strings.HasPrefix(s.Path, "/hooks/") {
		c.fault("server.path", "/hooks/ is where webhooks go: name another path, such as /mcp")
	}
	if s.PublicURL != "" {
		if u, err := url.Parse(s.PublicURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			c.fault("server.public_url", "want a URL such as https://mcp.acme.test/mcp, got %q", clip(s.PublicURL))
		}
	}
	for i, o := range s.Origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != o {
			c.fault(indexKey("server.origins", i), "want an origin such as https://app.acme.test, got %q", clip(o))
		}
	}
}

// listen checks an address and makes a socket's path absolute.
func (c *checker) listen(addr *string, key string) {
	if socket, ok := strings.CutPrefix(*addr, ListenUnix); ok {
		if p, err := parsePath(socket, c.dir); err != nil {
			c.fault(key, "%v", err)
		} else {
			*addr = ListenUnix + string(p)
		}
	} else if err := CheckListen(*addr); err != "" {
		c.fault(key, "%s", err)
	}
}

// admin checks the operations endpoint, which is for this machine alone.
func (c *checker) admin(a *Admin) {
	c.listen(&a.Listen, "admin.listen")
	host, _, err := net.SplitHostPort(a.Listen)
	if err != nil || strings.HasPrefix(a.Listen, ListenUnix) {
		return
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		c.fault("admin.listen", "want a loopback address such as 127.0.0.1:8643, or unix:PATH: whoever reaches it can ask what is cached for whom, got %q", clip(a.Listen))
	}
}

// CheckListen returns what is wrong with a TCP listen address, or "".
func CheckListen(addr string) string {
	if _, err := strconv.ParseUint(addr, 10, 16); err == nil {
		return "want host:port, got " + strconv.Quote(addr) + "; did you mean 127.0.0.1:" + addr + "?"
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "want host:port such as 127.0.0.1:8642, or unix:PATH, got " + strconv.Quote(clip(addr))
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "the port must be a number from 0 to 65535, got " + strconv.Quote(clip(port))
	}
	return ""
}

// DecodeKey returns the bytes of a sealing key.
func DecodeKey(s Secret) ([]byte, error) {
	text := strings.TrimSpace(s.Reveal())
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != keySize || base64.StdEncoding.EncodeToString(raw) != text {
		return nil, errKey
	}
	return raw, nil
}

type constError string

func (e constError) Error() string { return string(e) }

const errKey = constError("want 32 bytes in base64; make one with: openssl rand -base64 32")

// secrets resolves the references of `secrets`, then those of every other key.
func (c *checker) secrets() {
	known := make(map[string]*Secret, len(c.cfg.Secrets))
	own := &resolver{env: c.env, dir: c.dir}
	for _, name := range slices.Sorted(maps.Keys(c.cfg.Secrets)) {
		s := c.cfg.Secrets[name]
		if err := own.resolve(&s); err != nil && err != errFollows {
			c.fault(childKey("secrets", name), "%v", err)
		}
		c.cfg.Secrets[name], known[name] = s, &s
	}
	others := &resolver{env: c.env, dir: c.dir, secrets: known}
	root := reflect.ValueOf(c.cfg).Elem()
	for _, f := range fieldsOf(root.Type()) {
		if f.key != "secrets" {
			c.resolveIn(root.Field(f.index), f.key, others)
		}
	}
}

// resolveIn resolves every Secret in v.
func (c *checker) resolveIn(v reflect.Value, key string, r *resolver) {
	switch shapeOf(v.Type()) {
	case shapeSecret:
		s := v.Interface().(Secret)
		if err := r.resolve(&s); err != nil && err != errFollows {
			c.fault(key, "%v", err)
		}
		v.Set(reflect.ValueOf(s))
	case shapeSection:
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return
			}
			v = v.Elem()
		}
		for _, f := range fieldsOf(v.Type()) {
			c.resolveIn(v.Field(f.index), childKey(key, f.key), r)
		}
	case shapeList:
		for i := range v.Len() {
			c.resolveIn(v.Index(i), indexKey(key, i), r)
		}
	case shapeMap:
		for _, name := range v.MapKeys() {
			item := reflect.New(v.Type().Elem()).Elem()
			item.Set(v.MapIndex(name))
			c.resolveIn(item, childKey(key, name.String()), r)
			v.SetMapIndex(name, item)
		}
	}
}

func (c *checker) plugin(p *Plugin, key string) {
	if !isName(p.Name) {
		c.fault(key+".name", "want 1 to 64 letters, digits, -, _ or ., got %q", clip(p.Name))
	}
	c.source(p, key+".source")
	for _, own := range slices.Sorted(maps.Keys(p.Schemes)) {
		at := childKey(key+".schemes", own)
		if !isScheme(own) {
			c.fault(at, "%q is not a URI scheme: lower-case letters, digits, +, - and ., a letter first", clip(own))
		}
		if !isScheme(p.Schemes[own]) {
			c.fault(at, "%q is not a URI scheme: lower-case letters, digits, +, - and ., a letter first", clip(p.Schemes[own]))
		}
	}
	for i, prefix := range p.Only {
		if scheme, _, ok := strings.Cut(prefix, ":"); !ok || !isScheme(scheme) {
			c.fault(indexKey(key+".only", i), "want a prefix that begins with a scheme, such as docs://handbook/, got %q", clip(prefix))
		}
	}
	if p.Grants.FS != nil {
		c.fs(p.Grants.FS, key+".grants.fs")
	}
	if p.Grants.HTTP != nil {
		c.http(p.Grants.HTTP, key+".grants.http")
	}
	if kv := p.Grants.KV; kv != nil && kv.Quota < minQuota {
		c.fault(key+".grants.kv.quota", "want at least %v, got %v", Bytes(minQuota), kv.Quota)
	}
	if p.Cache != nil {
		c.cache(p.Cache, key+".cache")
	}
	if w := p.Webhook; w != nil && !w.Secret.failed {
		if _, err := webhook.New(w.Scheme, w.Secret.Reveal()); err != nil {
			c.fault(key+".webhook.secret", "%v", err)
		}
	}
}

func (c *checker) cache(r *Cache, key string) {
	if r.Max >= 0 && r.Min > r.Max {
		c.fault(key+".min", "the least lifetime %v is above the greatest, %v", r.Min, r.Max)
	}
	if r.Missing > maxMissing {
		c.fault(key+".missing", "want at most %v, got %v", maxMissing, r.Missing)
	}
	for i, scheme := range r.Public {
		if !isScheme(scheme) {
			c.fault(indexKey(key+".public", i), "%q is not a URI scheme", clip(scheme))
		}
	}
}

// source checks the kind of a source and makes a file's path absolute.
func (c *checker) source(p *Plugin, key string) {
	name, builtin := strings.CutPrefix(p.Source, SourceBuiltin)
	file, isFile := strings.CutPrefix(p.Source, SourceFile)
	switch {
	case builtin && isName(name):
	case isFile:
		abs, err := parsePath(strings.TrimPrefix(file, "//"), c.dir)
		if err != nil {
			c.fault(key, "%v", err)
			return
		}
		p.Source = SourceFile + string(abs)
	case strings.HasPrefix(p.Source, "oci:"):
		c.fault(key, "oci sources are not supported yet by this build: use file:PATH")
	case strings.HasPrefix(p.Source, "https:"), strings.HasPrefix(p.Source, "http:"):
		c.fault(key, "plugins are not fetched by this build: download %s and use file:PATH", clip(p.Source))
	case strings.HasSuffix(p.Source, ".wasm"):
		c.fault(key, "want builtin:NAME or file:PATH, got %q; did you mean %q?", clip(p.Source), clip(SourceFile+p.Source))
	default:
		c.fault(key, "want builtin:NAME or file:PATH, got %q", clip(p.Source))
	}
}

func (c *checker) fs(g *FSGrant, key string) {
	switch {
	case g.Root != "" && g.Roots != nil:
		c.fault(key+".root", "root and roots cannot stand together: root is short for roots: { main: { path: … } }")
		return
	case g.Root != "":
		g.Roots, g.Root = map[string]FSRoot{MainRoot: {Path: g.Root}}, ""
		pos, _ := c.cfg.At(key + ".root")
		delete(c.cfg.pos, key+".root")
		c.cfg.short[key+".root"] = pos
		for _, k := range [...]string{".roots", ".roots.main", ".roots.main.path"} {
			c.cfg.pos[key+k] = pos
		}
	case len(g.Roots) == 0:
		c.fault(key, "no folder is named: add root: PATH")
	}
	for _, name := range slices.Sorted(maps.Keys(g.Roots)) {
		at := childKey(key+".roots", name)
		if !isName(name) {
			c.fault(at, "want a name of 1 to 64 letters, digits, -, _ or ., got %q", clip(name))
		}
		if as := g.Roots[name].As; as != "" && (!strings.HasPrefix(as, "/") || path.Clean(as) != as || strings.ContainsRune(as, 0)) {
			c.fault(at+".as", "want an absolute path without . and .., such as /docs, got %q", clip(as))
		}
	}
	for i, pattern := range g.Hide {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			c.fault(indexKey(key+".hide", i), "want a pattern such as *.tmp, got %q", clip(pattern))
		}
	}
}

// http checks the shape of a grant; the runtime that compiles the rules says the rest, with the same keys.
func (c *checker) http(g *HTTPGrant, key string) {
	if len(g.Allow) == 0 {
		c.fault(key+".allow", "nothing is allowed: name a URL, such as allow: [{ url: https://api.test/v1/ }]")
	}
	for i, text := range g.CIDR {
		if p, err := netip.ParsePrefix(text); err != nil || p.Masked() != p {
			c.fault(indexKey(key+".cidr", i), "want a network such as 10.0.0.0/8, got %q", clip(text))
		}
	}
}

// SourcePath returns the path of a file source.
func (p *Plugin) SourcePath() (string, bool) { return strings.CutPrefix(p.Source, SourceFile) }

// BuiltinName returns the name of a built-in source.
func (p *Plugin) BuiltinName() (string, bool) { return strings.CutPrefix(p.Source, SourceBuiltin) }

// Dir returns the folder of the file, absolute; empty for a configuration without a file.
func (c *Config) Dir() string {
	if c.file == "" {
		return ""
	}
	dir, err := filepath.Abs(filepath.Dir(c.file))
	if err != nil {
		return ""
	}
	return dir
}

// isName reports whether s can name a plugin or a root.
func isName(s string) bool {
	if s == "" || len(s) > 64 || s == "." || s == ".." {
		return false
	}
	for i := range len(s) {
		b := s[i]
		if !isLetter(b|0x20) && !isDigit(b) && b != '-' && b != '_' && b != '.' {
			return false
		}
	}
	return true
}

// isScheme reports whether s is a URI scheme (RFC 3986 section 3.1) in lower case.
func isScheme(s string) bool {
	for i := range len(s) {
		b := s[i]
		if !isLetter(b) && (i == 0 || !isDigit(b) && b != '+' && b != '-' && b != '.') {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' }
func isDigit(b byte) bool  { return b >= '0' && b <= '9' }
