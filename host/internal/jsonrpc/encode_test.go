package jsonrpc_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reshost/reshost/host/internal/jsonrpc"
)

func TestAppendString(t *testing.T) {
	for in, want := range map[string]string{
		"":                      `""`,
		"<a href=\"x\">&\u2028": "\"<a href=\\\"x\\\">&\u2028\"", // RPC-11: nothing but JSON's own is escaped
		"a\x00\x1f\n\\é":        `"a\u0000\u001f\n\\é"`,
		"12345678\n12345678":    `"12345678\n12345678"`,
		"\x7f":                  "\"\x7f\"",
		"a\xffb":                "\"a\uFFFDb\"",
		"\xed\xa0\x80":          "\"\uFFFD\uFFFD\uFFFD\"",
	} {
		if got := string(jsonrpc.AppendString(nil, in)); got != want {
			t.Errorf("AppendString(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestAppendError(t *testing.T) {
	e := &jsonrpc.Error{Code: -32600, Message: `a "b"`, Data: []byte(`{"x":1}`)}
	got := string(jsonrpc.AppendError(nil, jsonrpc.ID(`"1"`), e))
	if want := `{"jsonrpc":"2.0","id":"1","error":{"code":-32600,"message":"a \"b\"","data":{"x":1}}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// An error whose id could not be read has no id member: the schema forbids null.
	got = string(jsonrpc.AppendError(nil, nil, &jsonrpc.Error{Code: -32700, Message: "m"}))
	if want := `{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAppendCompact(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		ok       bool
	}{
		{" { \"a\" :\n [ 1 , \" x \" ] } ", `{"a":[1," x "]}`, true},
		{`{"a":1,"a":2}`, "", false},
		{`{"a":1} x`, "", false},
		{``, "", false},
		{"\"a\nb\"", "", false},
	} {
		got, ok := jsonrpc.AppendCompact(nil, []byte(tt.in))
		if string(got) != tt.want || ok != tt.ok {
			t.Errorf("AppendCompact(%q) = %s, %v, want %s, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

// FuzzStrictJSON compares the scanner with another strict parser, jsontext.
func FuzzStrictJSON(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-0,1e5,"\ud83d\ude00"],"b":{}}`, `{"a":1,"\u0061":2}`, `"\ud800"`, "\"\xff\"", `[[[]]]`, `01`, `1.`, `nul`, ` true `, "\xef\xbb\xbf1",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if strings.Count(string(in), "[")+strings.Count(string(in), "{") > jsonrpc.MaxDepth {
			return // the other parser's depth limit is not ours
		}
		out, ok := jsonrpc.AppendCompact(nil, in)
		want := jsontext.Value(in).IsValid()
		if ok != want {
			t.Fatalf("%q: valid = %v, jsontext says %v", in, ok, want)
		}
		if !ok {
			return
		}
		other := jsontext.Value(in).Clone()
		if err := other.Compact(); err != nil || string(other) != string(out) {
			t.Fatalf("%q: compact = %s, jsontext says %s (%v)", in, out, other, err)
		}
	})
}

// FuzzEnvelope checks that no message can make the decoder panic, that an accepted one is whole, and that what is
// answered is valid.
func FuzzEnvelope(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}`, `{"jsonrpc":"2.0","id":"\n","method":"m"}`, `[]`, `{"id":1,"id":2`,
		`{"jsonrpc":"2.0","id":null,"error":{}}`, "\xef\xbb\xbf{}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := jsonrpc.Decode(in)
		if err != nil {
			if out := jsonrpc.AppendError(nil, m.ID, err); !jsontext.Value(out).IsValid() {
				t.Fatalf("the answer to %q is %q", in, out)
			}
			return
		}
		for _, v := range [][]byte{m.ID, m.Params, m.Result, m.Error} {
			if v != nil && !jsontext.Value(v).IsValid() {
				t.Fatalf("%q: %q is not a value", in, v)
			}
		}
		if m.Method == "" && !m.IsResponse && !strings.Contains(string(in), `""`) {
			t.Fatalf("%q: no method", in)
		}
		for o := jsonrpc.Members(m.Params); o.Next(); {
			if !jsontext.Value(o.Value).IsValid() {
				t.Fatalf("%q: member %q is %q", in, o.Name(), o.Value)
			}
		}
	})
}

// FuzzString checks that any text survives being written and read again, and is not escaped without need.
func FuzzString(f *testing.F) {
	f.Add("a\"b\\c\n<>&\u2028\xff😀")
	f.Fuzz(func(t *testing.T, in string) {
		out := jsonrpc.AppendString(nil, in)
		if !jsontext.Value(out).IsValid() {
			t.Fatalf("AppendString(%q) = %q", in, out)
		}
		if got := jsonrpc.String(out); utf8.ValidString(in) && got != in {
			t.Fatalf("%q came back as %q", in, got)
		}
	})
}

func BenchmarkAppendText(b *testing.B) {
	text := []byte(strings.Repeat("Sphinx of black quartz, judge my vow.\nGrüße ", 25_000))
	dst := make([]byte, 0, 2*len(text))
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		dst = jsonrpc.AppendText(dst[:0], text)
	}
}
