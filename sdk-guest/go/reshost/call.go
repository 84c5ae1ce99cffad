package reshost

import "github.com/reshost/reshost/abi"

// Call is the way to the host during one call. It, and what it gives, must not be used after the handler returned.
type Call struct {
	in *Instance
	// NowMillis is the time of the request: milliseconds since 1970 in UTC.
	NowMillis int64
	// DeadlineMillis is how long the call may take, from its start; 0: unsaid.
	DeadlineMillis int64
}

// Caller says who asks. Each field is empty unless the operator granted it to the plugin.
type Caller struct {
	Issuer, Subject, Tenant string
	Scopes                  []string
	// Claims are the token's claims, and Meta the granted keys of the request's `_meta`: JSON objects, or empty.
	Claims, Meta string
}

// Level is the severity of a log line.
type Level = abi.Level

// Severities of a log line.
const (
	LevelDebug   = abi.LevelDebug
	LevelInfo    = abi.LevelInfo
	LevelWarning = abi.LevelWarning
	LevelError   = abi.LevelError
)

// Log writes a line to the host's log, under the plugin's name. It is cut at 1 KiB and rate-limited.
func (c *Call) Log(level Level, message string) { c.in.h.log(level, message) }

// Config returns the operator's config for this plugin.
func (c *Call) Config() Config { return Config{c.in.h} }

// FS returns the granted folders. It needs [CapabilityFS].
func (c *Call) FS() FS { return FS{c.in} }

// HTTP returns what sends requests. It needs [CapabilityHTTP].
func (c *Call) HTTP() HTTP { return HTTP{c.in} }

// KV returns the plugin's store. It needs [CapabilityKV].
func (c *Call) KV() KV { return KV{c.in} }

// Scheme returns the name that the operator gave to a scheme of [Plugin.Schemes], or name itself.
func (c *Call) Scheme(name string) string { return c.in.scheme(name) }

// Updated tells the host that the resource at uri, or something below it, changed. It works in every call but Init and
// Describe.
func (c *Call) Updated(uri string) {
	c.in.rec = (&abi.Updated{URI: uri}).Append(c.in.rec[:0])
	c.in.emit(abi.KindUpdated)
}

// ListChanged tells the host that the list, or what Dynamic.Describe adds, changed. It works where Updated does.
func (c *Call) ListChanged() {
	c.in.rec = c.in.rec[:0]
	c.in.emit(abi.KindListChanged)
}

// InitCall is the call of [Plugin.Init].
type InitCall struct{ Call }
