package question

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reshost/reshost/host/provider"
)

func TestCheckParams(t *testing.T) {
	form := func(properties string) string {
		return `{"message":"m","requestedSchema":{"type":"object","properties":{` + properties + `}}}`
	}
	field := func(schema string) string { return form(`"a":` + schema) }
	tests := []struct {
		name, method, params string
		fault                string // a part of the error; empty where there is none
	}{
		{"form", Elicit, field(`{"type":"string","title":"A","minLength":1,"default":"x"}`), ""},
		{"form by name", Elicit, `{"mode":"form","message":"m","requestedSchema":{"$schema":"x","type":"object","properties":{},"required":[]}}`, ""},
		{"formats", Elicit, field(`{"type":"string","format":"date-time"}`), ""},
		{"numbers", Elicit, form(`"a":{"type":"number","minimum":0},"b":{"type":"integer"},"c":{"type":"boolean","default":true}`), ""},
		{"choices", Elicit, form(`"a":{"type":"string","enum":["x"]},"b":{"type":"string","oneOf":[{"const":"x","title":"X"}]}`), ""},
		{"several choices", Elicit, form(`"a":{"type":"array","items":{"type":"string","enum":["x"]}},"b":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}}`), ""},
		{"page", Elicit, `{"mode":"url","message":"m","url":"https://x.test/in?a=b#c"}`, ""},
		{"page on this machine", Elicit, `{"mode":"url","message":"m","url":"http://127.0.0.1:8080/in"}`, ""},
		{"sampling", Sample, `{"messages":[{"role":"user","content":{"type":"text","text":"x"}},{"role":"assistant","content":[]}],"maxTokens":1}`, ""},
		{"roots", Roots, ``, ""},
		{"roots with params", Roots, `{}`, ""},

		{"no method", "", `{}`, "cannot be asked"},
		{"another method", "tools/call", `{}`, "cannot be asked"},
		{"no params", Elicit, ``, "not a JSON object"},
		{"no object", Elicit, `[]`, "not a JSON object"},
		{"null", Elicit, `null`, "not a JSON object"},
		{"half an object", Elicit, `{"message":"m"`, "strict JSON"},
		{"two objects", Elicit, `{}{}`, "strict JSON"},
		{"two objects, the first of which is whole", Roots, `{} {}`, "strict JSON"},
		{"a name twice", Elicit, `{"message":"m","message":"n"}`, "strict JSON"},
		{"a name twice within", Roots, `{"x":{"a":1,"a":2}}`, "strict JSON"},
		{"not UTF-8", Roots, "{\"x\":\"\xff\"}", "strict JSON"},
		{"too deep", Roots, strings.Repeat(`{"x":`, 16) + "{}" + strings.Repeat("}", 16), "deeper"},
		{"too large", Roots, `{"x":"` + strings.Repeat("x", maxParams) + `"}`, "larger"},

		{"another mode", Elicit, `{"mode":"voice","message":"m"}`, `"form" or "url"`},
		{"a mode that is no string", Elicit, `{"mode":1,"message":"m"}`, "mode"},
		{"no message", Elicit, `{"requestedSchema":{"type":"object","properties":{}}}`, "message"},
		{"no schema", Elicit, `{"message":"m"}`, "requestedSchema"},
		{"a schema in other case", Elicit, `{"message":"m","RequestedSchema":{"type":"object","properties":{}}}`, "requestedSchema"},
		{"a schema of another type", Elicit, `{"message":"m","requestedSchema":{"type":"array","properties":{}}}`, `"object"`},
		{"no properties", Elicit, `{"message":"m","requestedSchema":{"type":"object"}}`, "properties"},
		{"nested", Elicit, field(`{"type":"object","properties":{}}`), "flat"},
		{"a type less", Elicit, field(`{}`), "flat"},
		{"another format", Elicit, field(`{"type":"string","format":"password"}`), "format"},
		{"an array of anything", Elicit, field(`{"type":"array"}`), "items"},
		{"an array of objects", Elicit, field(`{"type":"array","items":{"type":"object"}}`), "items"},
		{"half a choice", Elicit, field(`{"type":"string","oneOf":[{"const":"x"}]}`), "title"},
		{"required and not there", Elicit, `{"message":"m","requestedSchema":{"type":"object","properties":{},"required":["a"]}}`, "no property"},

		{"no URL", Elicit, `{"mode":"url","message":"m"}`, "absolute"},
		{"a relative URL", Elicit, `{"mode":"url","message":"m","url":"/in"}`, "absolute"},
		{"a script", Elicit, `{"mode":"url","message":"m","url":"javascript:alert(1)"}`, "absolute"},
		{"a file", Elicit, `{"mode":"url","message":"m","url":"file:///etc/passwd"}`, "absolute"},
		{"plain http", Elicit, `{"mode":"url","message":"m","url":"http://x.test/"}`, "https"},
		{"a user's name", Elicit, `{"mode":"url","message":"m","url":"https://a:b@x.test/"}`, "user's name"},

		{"no messages", Sample, `{"messages":[],"maxTokens":1}`, "messages"},
		{"no bound", Sample, `{"messages":[{"role":"user","content":{}}]}`, "maxTokens"},
		{"another role", Sample, `{"messages":[{"role":"system","content":{}}],"maxTokens":1}`, "role"},
		{"no content", Sample, `{"messages":[{"role":"user"}],"maxTokens":1}`, "content"},
	}
	for _, name := range []string{"password", "user_password", "PassPhrase", "api-key", "API key", "access_token", "token", "secret", "client_secret", "credit_card", "CVV"} {
		tests = append(tests, struct{ name, method, params, fault string }{name, Elicit, form(fmt.Sprintf(`%q:{"type":"string"}`, name)), "never asks for a secret"})
	}
	for _, name := range []string{"name", "secretary", "tokens_used", "passenger", "keyword"} {
		tests = append(tests, struct{ name, method, params, fault string }{name, Elicit, form(fmt.Sprintf(`%q:{"type":"string"}`, name)), ""})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := provider.InputRequest{Key: "k", Method: tt.method}
			if tt.params != "" {
				q.Params = provider.JSON(tt.params)
			}
			err := Check(&provider.InputRequired{Requests: []provider.InputRequest{q}})
			switch {
			case tt.fault == "" && err != nil:
				t.Error(err)
			case tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)):
				t.Errorf("got %v, want %q", err, tt.fault)
			}
		})
	}
}

func TestCheckBounds(t *testing.T) {
	many := make([]provider.InputRequest, Max+1)
	for i := range many {
		many[i] = provider.InputRequest{Key: fmt.Sprint(i), Method: Roots}
	}
	one := func(key string) provider.InputRequired {
		return provider.InputRequired{Requests: []provider.InputRequest{{Key: key, Method: Roots}}}
	}
	for _, tt := range []struct {
		name, fault string
		in          provider.InputRequired
	}{
		{"the most", "", provider.InputRequired{Requests: many[:Max], State: make([]byte, MaxState)}},
		{"a state alone", "", provider.InputRequired{State: []byte{}}},
		{"nothing", "asks nothing", provider.InputRequired{}},
		{"too many", "more than 16", provider.InputRequired{Requests: many}},
		{"a long state", "more than 8192", provider.InputRequired{State: make([]byte, MaxState+1)}},
		{"no key", "key is empty", one("")},
		{"a long key", "longer than", one(strings.Repeat("k", MaxKey+1))},
		{"a key that is not UTF-8", "UTF-8", one("\xff")},
		{"a key twice", "twice", provider.InputRequired{Requests: []provider.InputRequest{many[0], many[0]}}},
	} {
		err := Check(&tt.in)
		if (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.fault)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, method := range []string{Elicit, Sample, Roots} {
		f.Add(method, []byte(`{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`))
		f.Add(method, []byte(`{"mode":"url","message":"m","url":"https://x.test/"}`))
		f.Add(method, []byte(`{"messages":[{"role":"user","content":{}}],"maxTokens":1}`))
	}
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		q := provider.InputRequest{Key: "k", Method: method, Params: params}
		if err := Check(&provider.InputRequired{Requests: []provider.InputRequest{q}}); err == nil && params != nil && !strings.HasPrefix(strings.TrimLeft(string(params), " \t\r\n"), "{") {
			t.Errorf("%s with %q passes", method, params)
		}
	})
}
