package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
)

func completer(values func(*provider.CompleteRequest) *provider.CompleteResult) *fake {
	f := docs("docs")
	f.info.Templates = append(f.info.Templates,
		template("docs://db/{db}/tables/{table}", "db", "table"),
		provider.Template{URITemplate: "docs://quiet/{x}", Name: "quiet", Vars: []provider.TemplateVar{{Name: "x"}}},
		template("docs://list{?page,limit}", "page", "limit"),
	)
	f.complete = func(_ context.Context, req *provider.CompleteRequest) (*provider.CompleteResult, error) {
		return values(req), nil
	}
	return f
}

func TestComplete(t *testing.T) {
	num := func(n int) []string { return numbered("v", n) }
	total := func(n int64) *int64 { return &n }
	tests := []struct {
		name string
		give provider.CompleteResult
		want host.Completion // Values by number, below
		n    int
	}{
		{name: "none is an empty list (CMP-01)", want: host.Completion{Total: total(0)}},
		{name: "100 (CMP-02)", give: provider.CompleteResult{Values: num(100)}, n: 100, want: host.Completion{Total: total(100)}},
		{name: "100 of more (CMP-02)", give: provider.CompleteResult{Values: num(100), HasMore: true}, n: 100, want: host.Completion{HasMore: true}},
		{name: "100 of 250", give: provider.CompleteResult{Values: num(100), Total: total(250)}, n: 100, want: host.Completion{HasMore: true, Total: total(250)}},
		{name: "101 (CMP-01)", give: provider.CompleteResult{Values: num(101)}, n: 100, want: host.Completion{HasMore: true, Total: total(101)}},
		{name: "a total that is too small", give: provider.CompleteResult{Values: num(101), Total: total(5)}, n: 100, want: host.Completion{HasMore: true, Total: total(101)}},
		{name: "100,000 (CMP-01)", give: provider.CompleteResult{Values: num(100000), Total: total(100000)}, n: 100, want: host.Completion{HasMore: true}},
		{name: "doubles (CMP-01)", give: provider.CompleteResult{Values: []string{"v0000", "v0000", "v0001"}}, n: 2, want: host.Completion{Total: total(2)}},
		{name: "1 MB (CMP-01)", give: provider.CompleteResult{Values: []string{"v0000", strings.Repeat("x", 1<<20)}}, n: 1, want: host.Completion{Total: total(1)}},
		{name: "not UTF-8, NUL", give: provider.CompleteResult{Values: []string{"v0000", "\xff", "a\x00"}}, n: 1, want: host.Completion{Total: total(1)}},
		{name: "what could not be read", give: provider.CompleteResult{Values: []string{"../x", "v0000", "", ".."}}, n: 1, want: host.Completion{Total: total(1)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, nil, completer(func(*provider.CompleteRequest) *provider.CompleteResult { return &tt.give }))
			got, err := h.Complete(t.Context(), nil, &host.CompleteRequest{Template: "docs://{name}", Argument: "name", Value: "v"})
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Values = num(tt.n)
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestCompleteRequest(t *testing.T) {
	var seen *provider.CompleteRequest
	h := newHost(t, nil, completer(func(req *provider.CompleteRequest) *provider.CompleteResult {
		seen = req
		return &provider.CompleteResult{Values: []string{"v"}}
	}))
	const tables = "docs://db/{db}/tables/{table}"
	ctxVars := func(kv ...string) (vars []provider.Var) {
		for i := 0; i < len(kv); i += 2 {
			vars = append(vars, provider.Var{Name: kv[i], Value: kv[i+1]})
		}
		return vars
	}
	tests := []struct {
		name string
		req  host.CompleteRequest
		code string
		want *provider.CompleteRequest
		none bool
	}{
		{
			name: "the variables already known (CMP-04)", req: host.CompleteRequest{Template: tables, Argument: "table", Value: "t", Context: ctxVars("db", "a", "other", "x")}, code: "ok",
			want: &provider.CompleteRequest{Template: tables, TemplateIndex: 1, Argument: "table", Value: "t", Context: ctxVars("db", "a")},
		},
		{
			name: "none known", req: host.CompleteRequest{Template: tables, Argument: "table"}, code: "ok",
			want: &provider.CompleteRequest{Template: tables, TemplateIndex: 1, Argument: "table"},
		},
		{
			name: "a query variable", req: host.CompleteRequest{Template: "docs://list{?page,limit}", Argument: "limit"}, code: "ok",
			want: &provider.CompleteRequest{Template: "docs://list{?page,limit}", TemplateIndex: 3, Argument: "limit"},
		},
		{name: "a variable that proposes nothing", req: host.CompleteRequest{Template: "docs://quiet/{x}", Argument: "x"}, code: "ok", none: true},
		{name: "an unknown template (C1)", req: host.CompleteRequest{Template: "docs://{other}", Argument: "other"}, code: "invalid"},
		{name: "a URI", req: host.CompleteRequest{Template: "docs://index", Argument: "name"}, code: "invalid"},
		{name: "an unknown argument (C1)", req: host.CompleteRequest{Template: tables, Argument: "x"}, code: "invalid"},
		{name: "NUL (URI-06)", req: host.CompleteRequest{Template: tables, Argument: "table", Value: "a\x00"}, code: "invalid"},
		{name: "NUL in the context", req: host.CompleteRequest{Template: tables, Argument: "table", Context: ctxVars("db", "\x00")}, code: "invalid"},
		{name: "too long", req: host.CompleteRequest{Template: tables, Argument: "table", Value: strings.Repeat("a", 9<<10)}, code: "invalid"},
		{name: "a variable twice", req: host.CompleteRequest{Template: tables, Argument: "table", Context: ctxVars("db", "a", "db", "b")}, code: "invalid"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			seen = nil
			res, err := h.Complete(t.Context(), nil, &tt.req)
			if got := codeOf(err); got != tt.code {
				t.Fatalf("code %s, want %s (%v)", got, tt.code, err)
			}
			if err != nil || tt.none {
				if seen != nil {
					t.Error("the provider was asked")
				}
				return
			}
			if tt.want.Principal = seen.Principal; !seen.Principal.Anonymous() {
				t.Error("a principal from nowhere")
			}
			if diff := cmp.Diff(tt.want, seen); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if len(res.Values) != 1 {
				t.Errorf("values %v", res.Values)
			}
		})
	}
}

// A completion proposes nothing that its caller could not read, and counts nothing either (rules C1, A4).
func TestCompletePolicy(t *testing.T) {
	const tables = "docs://db/{db}/tables/{table}"
	values := []string{"a", "b", "c"}
	total := int64(3)
	f := completer(func(*provider.CompleteRequest) *provider.CompleteResult {
		return &provider.CompleteResult{Values: values, Total: &total}
	})
	var asked []string
	var allow func(*host.PolicyRequest) bool
	h := newHost(t, &host.Options{Policy: policyFunc(func(r *host.PolicyRequest) bool {
		asked = append(asked, fmt.Sprintf("%s %s %v", r.Op, r.URI, r.Prefix))
		return allow(r)
	})}, f)
	tests := []struct {
		name  string
		allow func(*host.PolicyRequest) bool
		req   host.CompleteRequest
		code  string
		want  []string
		asked []string
	}{
		{
			name: "by the whole URI", req: host.CompleteRequest{Template: tables, Argument: "table", Context: []provider.Var{{Name: "db", Value: "x y"}}},
			allow: func(r *host.PolicyRequest) bool { return !strings.HasSuffix(r.URI, "/b") },
			code:  "ok", want: []string{"a", "c"},
			asked: []string{
				"templates  false", "complete docs://db/x%20y/tables/ true", "read docs://db/x%20y/tables/a false",
				"read docs://db/x%20y/tables/b false", "read docs://db/x%20y/tables/c false",
			},
		},
		{
			name: "by the prefix, while the rest is open", req: host.CompleteRequest{Template: tables, Argument: "db"},
			allow: func(r *host.PolicyRequest) bool { return r.Op != host.OpRead || r.URI == "docs://db/c/tables/" },
			code:  "ok", want: []string{"c"},
			asked: []string{
				"templates  false", "complete docs://db/ true", "read docs://db/a/tables/ true",
				"read docs://db/b/tables/ true", "read docs://db/c/tables/ true",
			},
		},
		{
			name: "an earlier variable is open", req: host.CompleteRequest{Template: tables, Argument: "table"},
			allow: func(r *host.PolicyRequest) bool { return r.URI != "docs://db/" || r.Op == host.OpComplete },
			code:  "ok", want: []string{},
			asked: []string{"templates  false", "complete docs://db/ true", "read docs://db/ true", "read docs://db/ true", "read docs://db/ true"},
		},
		{
			name: "completing itself is refused: no such template", req: host.CompleteRequest{Template: tables, Argument: "db"},
			allow: func(r *host.PolicyRequest) bool { return r.Op != host.OpComplete }, code: "invalid",
			asked: []string{"templates  false", "complete docs://db/ true"},
		},
		{
			name: "the template is hidden: no such template", req: host.CompleteRequest{Template: tables, Argument: "db"},
			allow: func(r *host.PolicyRequest) bool { return r.Op != host.OpTemplates }, code: "invalid",
			asked: []string{"templates  false"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asked, allow = nil, tt.allow
			res, err := h.Complete(t.Context(), nil, &tt.req)
			if got := codeOf(err); got != tt.code {
				t.Fatalf("code %s, want %s (%v)", got, tt.code, err)
			}
			if diff := cmp.Diff(tt.asked, asked); diff != "" {
				t.Errorf("asked (-want +got)\n%s", diff)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(tt.want, res.Values); diff != "" {
				t.Errorf("values (-want +got)\n%s", diff)
			}
			if res.Total == nil || *res.Total != int64(len(tt.want)) || res.HasMore {
				t.Errorf("the caller learns how many are hidden: total %v, more %v", *res.Total, res.HasMore)
			}
		})
	}
	allow = func(*host.PolicyRequest) bool { return false }
	_, hidden := h.Complete(t.Context(), nil, &host.CompleteRequest{Template: tables, Argument: "db"})
	_, unknown := h.Complete(t.Context(), nil, &host.CompleteRequest{Template: "docs://no/{x}", Argument: "x"})
	if diff := cmp.Diff(unknown, hidden); diff != "" {
		t.Errorf("a hidden template can be told from an unknown one\n%s", diff)
	}
}
