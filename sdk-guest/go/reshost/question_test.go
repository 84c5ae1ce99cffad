package reshost

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestForm(t *testing.T) {
	q := Form("table", "How many are \"you\"?",
		Field{Name: "people", Title: "People", Type: TypeInteger},
		Field{Name: "diet", Description: "What you do not eat", Options: []string{"any", "vegan"}, Optional: true},
		Field{Name: "nuts", Type: TypeSeveral, Options: []string{"almond"}},
		Field{Name: "sure", Type: TypeBoolean},
	)
	if q.Key != "table" || q.Method != MethodElicit {
		t.Errorf("%+v", q)
	}
	const want = `{"mode":"form","message":"How many are \"you\"?","requestedSchema":{"type":"object","properties":{` +
		`"people":{"type":"integer","title":"People"},` +
		`"diet":{"type":"string","description":"What you do not eat","enum":["any","vegan"]},` +
		`"nuts":{"type":"array","items":{"type":"string","enum":["almond"]}},` +
		`"sure":{"type":"boolean"}},"required":["people","nuts","sure"]}}`
	if diff := cmp.Diff(want, q.Params); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got, want := Page("in", "Sign in", "https://x.test/in").Params, `{"mode":"url","message":"Sign in","url":"https://x.test/in"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, params := range []string{q.Params, Form("k", "m").Params} {
		if !json.Valid([]byte(params)) {
			t.Errorf("no JSON: %s", params)
		}
	}
}

func TestElicited(t *testing.T) {
	with := func(answer string) *ReadRequest { return &ReadRequest{Answers: []Answer{{Key: "k", JSON: answer}}} }
	if _, ok := with("{}").Elicited("other"); ok {
		t.Error("an answer that is not there")
	}
	for _, tt := range []struct {
		answer             string
		accepted, declined bool
	}{
		{`{"action":"accept"}`, true, false},
		{`{"content":{"action":"decline"}, "action" : "accept"}`, true, false},
		{`{"action":"decline"}`, false, true},
		{`{"action":"cancel"}`, false, false},
		{`{"action":7}`, false, false},
		{`{"Action":"accept"}`, false, false},
		{`{}`, false, false},
		{``, false, false},
		{`{"action":`, false, false},
	} {
		e, ok := with(tt.answer).Elicited("k")
		if !ok || e.Accepted != tt.accepted || e.Declined != tt.declined {
			t.Errorf("%s: %+v %v", tt.answer, e, ok)
		}
	}

	if e, _ := with(`{"action":"decline","content":{"a":"x"}}`).Elicited("k"); e.content != "" {
		t.Errorf("a refusal has content: %+v", e)
	}
	e, _ := with(`{"action":"accept","content":{"s":"a\"\u00e9\ud83d\ude00\n\\","n":-12,"whole":5.0,"big":9223372036854775808,"f":1.5,"b":false,` +
		`"list":[ "x" , "y" ],"none":[],"mixed":["x",1],"null":null,"o":{"s":"inner"}}}`).Elicited("k")
	text := func(name string) any { v, ok := e.String(name); return []any{v, ok} }
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"text", text("s"), []any{"a\"é😀\n\\", true}},
		{"text of a number", text("n"), []any{"", false}},
		{"text that is not there", text("x"), []any{"", false}},
		{"a name within", text("inner"), []any{"", false}},
		{"int", two(e.Int("n")), []any{int64(-12), true}},
		{"a whole number with a fraction", two(e.Int("whole")), []any{int64(5), true}},
		{"an int beyond 64 bits", two(e.Int("big")), []any{int64(0), false}},
		{"int of a fraction", two(e.Int("f")), []any{int64(0), false}},
		{"int of a text", two(e.Int("s")), []any{int64(0), false}},
		{"bool", two(e.Bool("b")), []any{false, true}},
		{"bool of null", two(e.Bool("null")), []any{false, false}},
		{"list", two(e.Strings("list")), []any{[]string{"x", "y"}, true}},
		{"empty list", two(e.Strings("none")), []any{[]string{}, true}},
		{"mixed list", two(e.Strings("mixed")), []any{[]string(nil), false}},
		{"raw", two(e.Raw("f")), []any{"1.5", true}},
		{"raw object", two(e.Raw("o")), []any{`{"s":"inner"}`, true}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
}

func two[T any](v T, ok bool) any { return []any{v, ok} }

// FuzzMember: of JSON text the readers see what encoding/json sees, and of no text do they read beyond its end or go on for ever.
func FuzzMember(f *testing.F) {
	f.Add(`{"a":"x","b":[1,{"a":"y"}],"c" : {"a":1}}`, "c")
	f.Add(`{"a":"\u00e9\ud83d\ude00\ud800"}`, "a")
	f.Add(`{"a":["x","y"]}`, "a")
	f.Add(`{"a"`, "a")
	f.Fuzz(func(t *testing.T, text, name string) {
		v, ok := member(text, name)
		s, isString := unquote(v)
		list, isList := unquoteAll(v)
		if n, ok := parseInt(v); !ok && n != 0 {
			t.Errorf("parseInt %q: %d, and no number", v, n)
		}
		var object map[string]json.RawMessage
		if !utf8.ValidString(text) || json.Unmarshal([]byte(text), &object) != nil || object == nil || !once(text) {
			return
		}
		want, there := object[name]
		if there != ok || there && string(want) != v {
			t.Fatalf("member %q of %s: %q %v, want %q %v", name, text, v, ok, want, there)
		}
		var wantString *string
		if json.Unmarshal(want, &wantString) == nil && wantString != nil && (!isString || *wantString != s) {
			t.Errorf("unquote %s: %q %v, want %q", v, s, isString, *wantString)
		}
		var wantList []*string
		if json.Unmarshal(want, &wantList) == nil && wantList != nil && isList && len(list) != len(wantList) {
			t.Errorf("unquoteAll %s: %q", v, list)
		}
	})
}

// once reports whether no object of a JSON text has a name twice. It is generous: no name may be in the text twice.
func once(text string) bool {
	seen := map[string]bool{}
	d := json.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if err != nil {
			return true
		}
		if s, ok := token.(string); ok {
			if seen[s] {
				return false
			}
			seen[s] = true
		}
	}
}
