package providertest

import (
	"github.com/reshost/reshost/host/internal/uri"
	"github.com/reshost/reshost/host/internal/uritemplate"
	"github.com/reshost/reshost/host/provider"
)

// checkCompletions: what is declared completes, with values that the template can carry; nothing else does.
func checkCompletions(k *kit) {
	k.open()
	for i := range k.info.Templates {
		t := &k.info.Templates[i]
		tmpl, err := uritemplate.Parse(t.URITemplate)
		if err != nil {
			continue // checkInfo's affair
		}
		req := provider.CompleteRequest{Template: t.URITemplate, TemplateIndex: i}
		for _, v := range t.Vars {
			req.Argument = v.Name
			if v.Complete {
				k.checkValues(req, tmpl, v)
			}
		}
		req.Argument = "providertest-no-such-variable"
		if res, err := k.p.Complete(k.ctx, &req); err == nil && res != nil && len(res.Values) > 0 {
			k.report("Complete of %s offers values for a variable that does not exist", t.URITemplate)
		}
	}
}

func (k *kit) checkValues(req provider.CompleteRequest, tmpl *uritemplate.Template, v provider.TemplateVar) {
	for _, typed := range []string{"", "a", "providertest-no-such-thing", "\u00e9%2F/.."} {
		req.Value = typed
		res, err := k.p.Complete(k.ctx, &req)
		if err != nil || res == nil {
			k.report("Complete of %q in %s for %q: %v, %v: no proposal is an empty list", v.Name, req.Template, typed, res, err)
			continue
		}
		if res.Total != nil && *res.Total < int64(len(res.Values)) {
			k.report("Complete of %q in %s for %q: Total is %d with %d values", v.Name, req.Template, typed, *res.Total, len(res.Values))
		}
		if res.Total != nil && !res.HasMore && *res.Total > int64(len(res.Values)) {
			k.report("Complete of %q in %s for %q: Total is %d with %d values, and HasMore is false", v.Name, req.Template, typed, *res.Total, len(res.Values))
		}
		for _, value := range res.Values {
			if !carries(tmpl, v, value) {
				k.report("Complete of %q in %s proposes %q, which no URI of the template carries", v.Name, req.Template, value)
			}
		}
	}
}

// carries reports whether some URI of tmpl has the value for v.
func carries(tmpl *uritemplate.Template, v provider.TemplateVar, value string) bool {
	var vars []provider.Var
	for _, name := range tmpl.Vars() {
		if name == v.Name {
			vars = append(vars, provider.Var{Name: name, Value: value})
		} else {
			vars = append(vars, provider.Var{Name: name, Value: "x"})
		}
	}
	text, err := tmpl.Expand(vars)
	if err != nil {
		return false
	}
	u, err := uri.Parse(text)
	if err != nil {
		return false
	}
	got, ok := tmpl.Match(u, func(name string) bool { return name == v.Name && v.Slash })
	for _, g := range got {
		if g.Name == v.Name && g.Value != value {
			return false
		}
	}
	return ok
}
