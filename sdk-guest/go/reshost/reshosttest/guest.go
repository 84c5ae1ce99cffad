package reshosttest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"testing"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/sdk-guest/go/reshost"
)

// Options are what an operator's config would say. The zero value grants nothing.
type Options struct {
	// Config is the plugin's config, a JSON object; empty: none.
	Config string
	// Roots are the granted folders by name. Without an entry the fs capability is denied.
	Roots map[string]fs.FS
	// RootPrefixes are the URI path prefixes of the roots, such as "/srv/docs"; a root without one has "/" and its name.
	RootPrefixes map[string]string
	// HTTP answers what the plugin sends. nil: the http capability is denied.
	HTTP http.Handler
	// KVQuota bounds the kv store, in bytes of keys and values. 0: the kv capability is denied. Values do not expire.
	KVQuota int
	// Schemes renames schemes: the plugin's name to the effective one.
	Schemes map[string]string
	// PageSize is the most resources of a page; 0: 1000.
	PageSize int
	// MaxBytes bounds the bodies of a read; 0: 16 MiB.
	MaxBytes int64
	// NowMillis is the time of every request; 0: a fixed time in 2026.
	NowMillis int64
	// Logf receives the plugin's log lines; nil: the test's log.
	Logf func(format string, args ...any)
}

const (
	defaultPageSize = 1000
	defaultMaxBytes = 16 << 20
	defaultNow      = 1_780_000_000_000
	defaultDeadline = 10_000
)

// Guest is a plugin that runs natively. It serves one call at a time.
type Guest struct {
	tb   testing.TB
	host *host
	in   *reshost.Instance
	opts Options
	// templates are those of the manifest, with effective schemes.
	templates []template
	// dynamic says that requests carry no template index.
	dynamic  bool
	manifest []byte
}

// New checks p, takes its manifest and starts it. A mistake ends the test.
func New(tb testing.TB, p *reshost.Plugin, opts *Options) *Guest {
	tb.Helper()
	g, err := Start(tb, p, opts)
	if err != nil {
		tb.Fatalf("plugin does not load: %v", err)
	}
	return g
}

// Start is New for tests that expect the load to fail.
func Start(tb testing.TB, p *reshost.Plugin, opts *Options) (*Guest, error) {
	tb.Helper()
	g := &Guest{tb: tb}
	if opts != nil {
		g.opts = *opts
	}
	if g.opts.Logf == nil {
		g.opts.Logf = tb.Logf
	}
	if g.opts.PageSize == 0 {
		g.opts.PageSize = defaultPageSize
	}
	if g.opts.MaxBytes == 0 {
		g.opts.MaxBytes = defaultMaxBytes
	}
	if g.opts.NowMillis == 0 {
		g.opts.NowMillis = defaultNow
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	var err error
	if g.host, err = newHost(&g.opts); err != nil {
		return nil, err
	}
	g.in = reshost.NewInstance(p, g.host)
	if err := g.describe(true); err != nil {
		return nil, err
	}
	if err := g.start(); err != nil {
		return nil, err
	}
	if g.dynamic {
		return g, g.describe(false)
	}
	return g, nil
}

func (g *Guest) start() error {
	req := abi.InitRequest{NowMillis: uint64(g.opts.NowMillis)}
	_, err := g.call(abi.ExportInit, req.Append(nil))
	return err
}

// Manifest returns the plugin's manifest, JSON text, with the plugin's own scheme names.
func (g *Guest) Manifest() string { return string(g.manifest) }

func (g *Guest) describe(pack bool) error {
	req := abi.InitRequest{NowMillis: uint64(g.opts.NowMillis), Pack: pack}
	res, err := g.call(abi.ExportDescribe, req.Append(nil))
	if err != nil {
		return err
	}
	if res.manifest == nil {
		return fmt.Errorf("%s emitted no manifest", abi.ExportDescribe)
	}
	g.manifest = res.manifest
	var m struct {
		Dynamic   bool `json:"dynamic"`
		Templates []struct {
			URITemplate string `json:"uriTemplate"`
			Vars        map[string]struct {
				Slash bool `json:"slash"`
			} `json:"vars"`
		} `json:"templates"`
	}
	if err := json.Unmarshal(res.manifest, &m); err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	g.dynamic = m.Dynamic
	g.templates = nil
	for _, t := range m.Templates {
		slash := make(map[string]bool)
		for name, v := range t.Vars {
			slash[name] = v.Slash
		}
		c, err := compile(g.rename(t.URITemplate), slash)
		if err != nil {
			return err
		}
		g.templates = append(g.templates, c)
	}
	return nil
}

// rename gives a URI or template of the manifest its effective scheme.
func (g *Guest) rename(uri string) string {
	for own, effective := range g.opts.Schemes {
		if n := len(own); len(uri) > n && uri[:n] == own && uri[n] == ':' {
			return effective + uri[n:]
		}
	}
	return uri
}

// Failure is a status other than ok.
type Failure struct {
	Code reshost.Code
	// Message, Detail and RetryAfterMillis are those of the plugin's ERROR record.
	Message, Detail  string
	RetryAfterMillis uint64
}

// Error returns code and message.
func (f *Failure) Error() string {
	if f.Message == "" {
		return f.Code.String()
	}
	return f.Code.String() + ": " + f.Message
}

// call runs an export and returns what it emitted.
func (g *Guest) call(export string, request []byte) (*result, error) {
	g.tb.Helper()
	res := g.host.begin(export, request)
	status := g.in.Run(export)
	if err := g.host.end(); err != nil {
		return nil, err
	}
	switch {
	case len(res.rejected) > 0 && export != abi.ExportList:
		return nil, fmt.Errorf("%s: %s", export, res.rejected[0])
	case status == abi.StatusInputRequired && export == abi.ExportRead:
		if len(res.inputs) == 0 && res.state == nil {
			return nil, fmt.Errorf("%s: input_required without INPUT or STATE", export)
		}
	case status == abi.StatusNotModified && export == abi.ExportRead && res.ifETag != "":
	case status != abi.StatusOK:
		f := &Failure{Code: status}
		if res.failure != nil {
			f.Message, f.Detail, f.RetryAfterMillis = res.failure.Message, res.failure.DetailJSON, res.failure.RetryAfterMillis
		}
		return nil, f
	case res.failure != nil:
		return nil, fmt.Errorf("%s: ok with an ERROR record", export)
	}
	res.status = status
	return res, nil
}
