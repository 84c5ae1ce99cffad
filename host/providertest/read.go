package providertest

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reshost/reshost/host/internal/uri"
	"github.com/reshost/reshost/host/internal/uritemplate"
	"github.com/reshost/reshost/host/provider"
)

// checkRead: every resource that is listed or named in Options can be read, and is what the list says.
func checkRead(k *kit) {
	k.open()
	for _, t := range k.targets() {
		req, ok := k.request(t.uri)
		if !ok {
			k.report("%s matches neither Info.Resources nor a template: the host never asks for it", t.uri)
			continue
		}
		res, err := k.p.Read(k.ctx, req)
		switch {
		case provider.CodeOf(err) == provider.TooLarge && err != nil:
			continue // an honest answer
		case err != nil:
			k.report("Read of %s: %v", t.uri, err)
		case res == nil:
			k.report("Read of %s returns neither a result nor an error", t.uri)
		case res.Input != nil:
			continue // checkInput's affair
		default:
			k.checkContents(t, res)
		}
	}
}

// checkContents checks the shape of a result (rule R1).
func (k *kit) checkContents(t target, res *provider.ReadResult) {
	if res.NotModified {
		k.report("Read of %s answers NotModified to a request without IfETag", t.uri)
		return
	}
	if len(res.Contents) == 0 {
		k.report("Read of %s returns no contents: an empty resource is one content with an empty body", t.uri)
	}
	var size int64
	for i := range res.Contents {
		c := &res.Contents[i]
		size += int64(len(c.Body))
		if c.Text && !utf8.Valid(c.Body) {
			k.report("Read of %s: content %d is marked as text and is not valid UTF-8", t.uri, i)
		}
		if c.URI != "" {
			k.parse("Read of "+t.uri.String(), c.URI)
		}
		k.checkETagText(t.uri, c.ETag)
		k.checkHints("Read of "+t.uri.String(), c.MIMEType, nil, nil, c.Meta)
	}
	if size > k.opts.MaxBytes {
		k.report("Read of %s returns %d bytes, over MaxBytes %d", t.uri, size, k.opts.MaxBytes)
	}
	if t.listed == nil || len(res.Contents) != 1 {
		return
	}
	if t.listed.Size != nil && *t.listed.Size != size {
		k.report("%s is listed with size %d and read with %d bytes", t.uri, *t.listed.Size, size)
	}
	if got := res.Contents[0].MIMEType; t.listed.MIMEType != "" && got != t.listed.MIMEType {
		k.report("%s is listed as %q and read as %q", t.uri, t.listed.MIMEType, got)
	}
}

func (k *kit) checkETagText(u uri.URI, etag string) {
	if len(etag) > 256 || strings.ContainsFunc(etag, func(r rune) bool { return r < ' ' || r > '~' }) {
		k.report("Read of %s: ETag %q is not printable ASCII up to 256 bytes", u, etag)
	}
}

// checkMissing: what does not exist is NotFound (rule R2).
func checkMissing(k *kit) {
	k.open()
	for _, u := range k.missing() {
		req, ok := k.request(u)
		if !ok {
			continue // the host answers by itself
		}
		res, err := k.p.Read(k.ctx, req)
		switch code := provider.CodeOf(err); {
		case err == nil && res != nil && len(res.Contents) == 0 && res.Input == nil:
			k.report("Read of %s, which does not exist, returns empty contents, not provider.NotFound", u)
		case err == nil:
			k.report("Read of %s, which does not exist, succeeds (templates that answer for any value: Options.Open)", u)
		case code != provider.NotFound:
			k.report("Read of %s, which does not exist, fails with code %s, not not_found: %v", u, code, err)
		}
	}
}

// missing returns URIs of nothing: those of Options.Missing and one a template.
func (k *kit) missing() []uri.URI {
	var out []uri.URI
	texts := slices.Clone(k.opts.Missing)
	for i := range k.routes {
		tmpl := k.routes[i].template
		if slices.Contains(k.opts.Open, tmpl.String()) {
			continue
		}
		vars := required(tmpl)
		if text, err := tmpl.Expand(vars); err == nil && len(vars) > 0 {
			texts = append(texts, text)
		}
	}
	for _, text := range texts {
		u, err := uri.Parse(text)
		if err != nil {
			k.report("Options.Missing: %q: %v", text, err)
			continue
		}
		out = append(out, u)
	}
	return out
}

// required returns a value for each variable that a URI of the template cannot do without: an unlikely value of a query
// variable may be invalid rather than missing.
func required(tmpl *uritemplate.Template) []provider.Var {
	var vars []provider.Var
	for _, name := range tmpl.Vars() {
		vars = append(vars, provider.Var{Name: name, Value: "providertest-no-such-thing"})
	}
	for i := len(vars) - 1; i >= 0; i-- {
		fewer := slices.Delete(slices.Clone(vars), i, i+1)
		if _, err := tmpl.Expand(fewer); err == nil {
			vars = fewer
		}
	}
	return vars
}

// checkLimit: a resource over MaxBytes is TooLarge, never cut (case FS-05).
func checkLimit(k *kit) {
	k.open()
	done := 0
	for _, t := range k.targets() {
		if done == 10 {
			return
		}
		req, ok := k.request(t.uri)
		if !ok {
			continue
		}
		res, err := k.p.Read(k.ctx, req)
		if err != nil || res == nil || res.Input != nil {
			continue // checkRead's affair
		}
		var size int64
		for i := range res.Contents {
			size += int64(len(res.Contents[i].Body))
		}
		if size < 2 {
			continue
		}
		done++
		req.MaxBytes = size / 2
		if _, err := k.p.Read(k.ctx, req); err == nil {
			k.report("Read of %s with MaxBytes %d succeeds, though it has %d bytes: want provider.TooLarge", t.uri, req.MaxBytes, size)
		} else if code := provider.CodeOf(err); code != provider.TooLarge {
			k.report("Read of %s with MaxBytes %d, of %d bytes, fails with code %s, not too_large: %v", t.uri, req.MaxBytes, size, code, err)
		}
	}
}

// checkETag: NotModified is said only for the ETag that the contents have.
func checkETag(k *kit) {
	k.open()
	for _, t := range k.targets() {
		req, ok := k.request(t.uri)
		if !ok {
			continue
		}
		req.IfETag = "providertest-no-such-etag"
		if res, err := k.p.Read(k.ctx, req); err == nil && res != nil && res.NotModified {
			k.report("Read of %s answers NotModified to an ETag that it never gave", t.uri)
		}
	}
}
