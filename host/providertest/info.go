package providertest

import (
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/reshost/reshost/host/internal/uri"
	"github.com/reshost/reshost/host/internal/uritemplate"
	"github.com/reshost/reshost/host/provider"
)

// checkInfo: the facts are well formed, agree with each other, and do not change by being asked for.
func checkInfo(k *kit) {
	k.open()
	info := k.info
	if !validName(info.Name) {
		k.report("Info.Name %q: want 1 to 64 letters, digits, \"-\", \"_\" or \".\"", info.Name)
	}
	if len(info.Schemes) == 0 {
		k.report("Info.Schemes is empty: the provider serves nothing")
	}
	for _, scheme := range info.Schemes {
		if u, err := uri.Parse(scheme + ":x"); err != nil || u.Scheme != scheme || u.Path != "x" {
			k.report("Info.Schemes: %q is no URI scheme in lower case", scheme)
		}
	}
	for _, prefix := range info.Only {
		scheme, _, _ := strings.Cut(prefix, ":")
		if !slices.Contains(info.Schemes, scheme) {
			k.report("Info.Only: %q has a scheme that Info.Schemes does not claim", prefix)
		}
	}
	seen := map[string]bool{}
	for i := range info.Resources {
		k.checkResource("Info.Resources", &info.Resources[i])
		if seen[info.Resources[i].URI] {
			k.report("Info.Resources: %q stands twice", info.Resources[i].URI)
		}
		seen[info.Resources[i].URI] = true
	}
	for i := range info.Templates {
		k.checkTemplate(&info.Templates[i])
	}
	if again := k.p.Info(); !reflect.DeepEqual(again, info) {
		k.report("Info differs when it is called again without a change")
	}
}

func validName(name string) bool {
	return name != "" && len(name) <= 64 && strings.IndexFunc(name, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.')
	}) < 0
}

// checkResource checks the entry of a list (rule L2).
func (k *kit) checkResource(where string, r *provider.Resource) {
	if _, ok := k.parse(where, r.URI); !ok {
		return
	}
	if r.Name == "" {
		k.report("%s: %s has no name", where, r.URI)
	}
	if r.Size != nil && *r.Size < 0 {
		k.report("%s: %s has size %d: nil is unknown", where, r.URI, *r.Size)
	}
	k.checkHints(where+": "+r.URI, r.MIMEType, r.Icons, r.Annotations, r.Meta)
}

// checkHints checks what entries of both lists may carry.
func (k *kit) checkHints(where, mimeType string, icons []provider.Icon, a *provider.Annotations, meta provider.JSON) {
	if mimeType != "" {
		if kind, sub, ok := strings.Cut(mimeType, "/"); !ok || kind == "" || sub == "" {
			k.report("%s: %q is no media type", where, mimeType)
		}
	}
	for _, icon := range icons {
		if scheme, _, _ := strings.Cut(strings.ToLower(icon.Src), ":"); scheme != "https" && scheme != "data" {
			k.report("%s: icon %q is neither an https nor a data URI", where, icon.Src)
		}
	}
	if a != nil && a.Priority != nil && !(*a.Priority >= 0 && *a.Priority <= 1) {
		k.report("%s: priority %v is not from 0 to 1", where, *a.Priority)
	}
	if a != nil {
		for _, who := range a.Audience {
			if who != "user" && who != "assistant" {
				k.report("%s: audience %q is neither \"user\" nor \"assistant\"", where, who)
			}
		}
	}
	if v := jsontext.Value(meta); meta != nil && (!v.IsValid() || v.Kind() != '{') {
		k.report("%s: Meta is no JSON object", where)
	}
}

func (k *kit) checkTemplate(t *provider.Template) {
	tmpl, err := uritemplate.Parse(t.URITemplate)
	if err != nil {
		k.report("Info.Templates: %v", err)
		return
	}
	if !slices.Contains(k.info.Schemes, tmpl.Scheme()) {
		k.report("Info.Templates: %s has a scheme that Info.Schemes does not claim", t.URITemplate)
	}
	if t.Name == "" {
		k.report("Info.Templates: %s has no name", t.URITemplate)
	}
	k.checkHints("Info.Templates: "+t.URITemplate, t.MIMEType, t.Icons, t.Annotations, t.Meta)
	var taken []string
	for _, v := range t.Vars {
		if slices.Contains(taken, v.Name) {
			k.report("Info.Templates: %s: Vars names %q twice", t.URITemplate, v.Name)
		}
		taken = append(taken, v.Name)
		if !slices.Contains(tmpl.Vars(), v.Name) {
			k.report("Info.Templates: %s: Vars names %q, which the template does not have", t.URITemplate, v.Name)
		}
	}
	for _, name := range tmpl.Vars() {
		if !slices.Contains(taken, name) {
			k.report("Info.Templates: %s: Vars lacks %q", t.URITemplate, name)
		}
	}
}
