package jsonrpc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/host/internal/jsonrpc"
)

func TestDecode(t *testing.T) {
	deep := func(n int) string {
		return `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}}`
	}
	many := func(last string) string {
		var b strings.Builder
		b.WriteString(`{"jsonrpc":"2.0","id":1,"method":"m","params":{`)
		for i := range 40 {
			fmt.Fprintf(&b, `"k%d":%d,`, i, i)
		}
		return b.String() + `"` + last + `":0}}`
	}
	tests := []struct {
		name string
		in   string
		want jsonrpc.Message
		code int
	}{
		{name: "request", in: `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,2]}}`, want: jsonrpc.Message{ID: id("1"), Method: "m", Params: []byte(`{"a":[1,2]}`)}},
		{name: "notification", in: `{"jsonrpc":"2.0","method":"m"}`, want: jsonrpc.Message{Method: "m"}},
		{name: "white space", in: " \t\r\n{ \"jsonrpc\" : \"2.0\" , \"id\" : 1 , \"method\" : \"m\" } \n", want: jsonrpc.Message{ID: id("1"), Method: "m"}},
		{name: "result", in: `{"jsonrpc":"2.0","id":1,"result":{}}`, want: jsonrpc.Message{ID: id("1"), Result: []byte("{}"), IsResponse: true}},
		{name: "error", in: `{"jsonrpc":"2.0","id":1,"error":{}}`, want: jsonrpc.Message{ID: id("1"), Error: []byte("{}"), IsResponse: true}},
		{name: "STD-07 byte order mark", in: "\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":1,"method":"m"}`, want: jsonrpc.Message{ID: id("1"), Method: "m"}},
		{name: "P9 unknown fields", in: `{"jsonrpc":"2.0","id":1,"method":"m","x":[{"y":null}]}`, want: jsonrpc.Message{ID: id("1"), Method: "m"}},
		{name: "escaped names", in: `{"json\u0072pc":"2.0","id":1,"m\u0065thod":"\u006d"}`, want: jsonrpc.Message{ID: id("1"), Method: "m"}},

		{name: "RPC-01 odd case is an unknown field", in: `{"jsonrpc":"2.0","id":1,"method":"m","Method":"n"}`, want: jsonrpc.Message{ID: id("1"), Method: "m"}},
		{name: "RPC-01 only METHOD", in: `{"jsonrpc":"2.0","id":2,"METHOD":"m"}`, want: jsonrpc.Message{ID: id("2")}, code: -32600},
		{name: "RPC-01 long s", in: `{"jsonrpc":"2.0","id":4,"method":"m","paramſ":{"a":1}}`, want: jsonrpc.Message{ID: id("4"), Method: "m"}},
		{name: "RPC-01 duplicate in params", in: `{"jsonrpc":"2.0","id":6,"method":"m","params":{"uri":"a","uri":"b"}}`, want: jsonrpc.Message{ID: id("6")}, code: -32600},
		{name: "duplicate by escape", in: `{"jsonrpc":"2.0","id":6,"method":"m","params":{"uri":"a","\u0075ri":"b"}}`, want: jsonrpc.Message{ID: id("6")}, code: -32600},
		{name: "duplicate deep below", in: `{"jsonrpc":"2.0","id":6,"method":"m","params":{"x":[{"a":1,"a":1}]}}`, want: jsonrpc.Message{ID: id("6")}, code: -32600},
		{name: "duplicate method", in: `{"jsonrpc":"2.0","id":6,"method":"m","method":"n"}`, want: jsonrpc.Message{ID: id("6")}, code: -32600},
		{name: "duplicate id leaves none", in: `{"jsonrpc":"2.0","id":6,"method":"m","id":7}`, code: -32600},
		{name: "many names", in: many("other"), want: jsonrpc.Message{ID: id("1"), Method: "m", Params: []byte(many("other")[46 : len(many("other"))-1])}},
		{name: "duplicate among many", in: many("k7"), want: jsonrpc.Message{ID: id("1")}, code: -32600},
		{name: "same name in other objects", in: `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":{"a":{"a":1}},"b":{"a":1}}}`, want: jsonrpc.Message{ID: id("1"), Method: "m", Params: []byte(`{"a":{"a":{"a":1}},"b":{"a":1}}`)}},

		{name: "RPC-03 string that looks like a number", in: `{"jsonrpc":"2.0","id":"1","method":"m"}`, want: jsonrpc.Message{ID: id(`"1"`), Method: "m"}},
		{name: "RPC-03 empty string", in: `{"jsonrpc":"2.0","id":"","method":"m"}`, want: jsonrpc.Message{ID: id(`""`), Method: "m"}},
		{name: "RPC-03 zero", in: `{"jsonrpc":"2.0","id":0,"method":"m"}`, want: jsonrpc.Message{ID: id(`0`), Method: "m"}},
		{name: "RPC-03 negative", in: `{"jsonrpc":"2.0","id":-1,"method":"m"}`, want: jsonrpc.Message{ID: id(`-1`), Method: "m"}},
		{name: "RPC-03 above 2^53", in: `{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}`, want: jsonrpc.Message{ID: id(`9007199254740993`), Method: "m"}},
		{name: "RPC-03 letters and escapes", in: `{"jsonrpc":"2.0","id":"é\n","method":"m"}`, want: jsonrpc.Message{ID: id(`"é\n"`), Method: "m"}},
		{name: "RPC-05 null id", in: `{"jsonrpc":"2.0","id":null,"method":"m"}`, code: -32600},
		{name: "RPC-05 object id", in: `{"jsonrpc":"2.0","id":{"a":1},"method":"m"}`, code: -32600},
		{name: "RPC-05 array id", in: `{"jsonrpc":"2.0","id":[1],"method":"m"}`, code: -32600},
		{name: "RPC-05 boolean id", in: `{"jsonrpc":"2.0","id":true,"method":"m"}`, code: -32600},
		{name: "P8 fraction", in: `{"jsonrpc":"2.0","id":1.5,"method":"m"}`, code: -32600},
		{name: "P8 exponent", in: `{"jsonrpc":"2.0","id":1e2,"method":"m"}`, code: -32600},
		{name: "P8 long id", in: `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", jsonrpc.MaxID) + `","method":"m"}`, code: -32600},

		{name: "RPC-08 batch", in: `[{"jsonrpc":"2.0","id":1,"method":"m"}]`, code: -32600},
		{name: "RPC-08 empty batch", in: `[]`, code: -32600},
		{name: "RPC-08 batch of a number", in: `[1]`, code: -32600},
		{name: "number", in: `1`, code: -32600},
		{name: "null", in: `null`, code: -32600},
		{name: "empty", in: ``, code: -32700},
		{name: "half a message", in: `{"jsonrpc":"2.0","id":5,"method":"re`, want: jsonrpc.Message{ID: id("5")}, code: -32700},
		{name: "trailing data", in: `{"jsonrpc":"2.0","id":1,"method":"m"}{}`, want: jsonrpc.Message{ID: id("1")}, code: -32700},
		{name: "trailing comma", in: `{"jsonrpc":"2.0","id":1,"method":"m",}`, want: jsonrpc.Message{ID: id("1")}, code: -32700},
		{name: "NUL", in: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\x00", want: jsonrpc.Message{ID: id("1")}, code: -32700},
		{name: "invalid UTF-8", in: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", want: jsonrpc.Message{ID: id("1")}, code: -32700},
		{name: "overlong UTF-8", in: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc0\xaf\"}", want: jsonrpc.Message{ID: id("1")}, code: -32700},
		{name: "lone surrogate", in: `{"jsonrpc":"2.0","id":1,"method":"\ud800"}`, want: jsonrpc.Message{ID: id("1")}, code: -32700},
		{name: "control character", in: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\x01\"}", want: jsonrpc.Message{ID: id("1")}, code: -32700},
		{name: "leading zero", in: `{"jsonrpc":"2.0","id":01,"method":"m"}`, code: -32700},
		{name: "deepest", in: deep(jsonrpc.MaxDepth - 2), want: jsonrpc.Message{ID: id("1"), Method: "m", Params: []byte(deep(62)[46 : len(deep(62))-1])}},
		{name: "too deep", in: deep(jsonrpc.MaxDepth - 1), want: jsonrpc.Message{ID: id("1")}, code: -32600},
		{name: "far too deep", in: deep(1_000_000), want: jsonrpc.Message{ID: id("1")}, code: -32600},

		{name: "wrong version", in: `{"jsonrpc":"1.0","id":1,"method":"m"}`, want: jsonrpc.Message{ID: id("1")}, code: -32600},
		{name: "no version", in: `{"id":1,"method":"m"}`, want: jsonrpc.Message{ID: id("1")}, code: -32600},
		{name: "method of another type", in: `{"jsonrpc":"2.0","id":1,"method":7}`, want: jsonrpc.Message{ID: id("1")}, code: -32600},
		{name: "params array", in: `{"jsonrpc":"2.0","id":1,"method":"m","params":[]}`, want: jsonrpc.Message{ID: id("1")}, code: -32602},
		{name: "params null", in: `{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, want: jsonrpc.Message{ID: id("1")}, code: -32600},
		{name: "method and result", in: `{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`, want: jsonrpc.Message{ID: id("1")}, code: -32600},
		{name: "result and error", in: `{"jsonrpc":"2.0","id":1,"error":{},"result":{}}`, want: jsonrpc.Message{ID: id("1")}, code: -32600},
		{name: "nothing", in: `{"jsonrpc":"2.0","id":1}`, want: jsonrpc.Message{ID: id("1")}, code: -32600},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := jsonrpc.Decode([]byte(tt.in))
			code := 0
			if err != nil {
				code = err.Code
			}
			if code != tt.code {
				t.Errorf("code = %d, want %d (%v)", code, tt.code, err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("message (-want +got):\n%s", d)
			}
		})
	}
}

func id(s string) jsonrpc.ID { return jsonrpc.ID(s) }

func TestIDKey(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{`1`, `1`, true},
		{`1`, `"1"`, false},
		{`"a"`, `"\u0061"`, true},
		{`0`, `-0`, true},
		{`"\""`, `"\\\""`, false},
	} {
		if got := id(tt.a).Key() == id(tt.b).Key(); got != tt.same {
			t.Errorf("Key(%s) == Key(%s) is %v, want %v", tt.a, tt.b, got, tt.same)
		}
	}
}

func TestFindID(t *testing.T) {
	long := strings.Repeat("x", jsonrpc.IDWindow)
	for _, tt := range []struct{ name, in, want string }{
		{"first member", `{"id":1,`, "1"},
		{"after an object", `{"params":{"id":9,"s":"}"},"id":"a","x`, `"a"`},
		{"escaped name", `{"\u0069d":3,"x`, "3"},
		{"beyond the window", `{"x":"` + long + `","id":1}`, ""},
		{"before the window's end", `{"id":1,"x":"` + long + `"}`, "1"},
		{"cut off", `{"id":12`, ""},
		{"two", `{"id":1,"id":1,"x":2}`, ""},
		{"null", `{"id":null,"x":2}`, ""},
		{"not JSON", `{"id":zz,"x":2}`, ""},
		{"array", `[{"id":1}]`, ""},
		{"empty", ``, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(jsonrpc.FindID([]byte(tt.in))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWalk(t *testing.T) {
	in := []byte(` { "a" : "x\"}" , "b":[ 1 ,{"c":[]}, "]" ],"\u0063":{"d":-1.5e3}, "e":true } `)
	if _, ok := jsonrpc.AppendCompact(nil, in); !ok {
		t.Fatal("the test's input is not JSON")
	}
	var got []string
	for o := jsonrpc.Members(in[1:]); o.Next(); {
		got = append(got, o.Name()+"="+string(o.Value))
		if o.Is("b") {
			for l := jsonrpc.Elements(o.Value); l.Next(); {
				got = append(got, "- "+string(l.Value))
			}
		}
	}
	want := []string{`a="x\"}"`, `b=[ 1 ,{"c":[]}, "]" ]`, `- 1`, `- {"c":[]}`, `- "]"`, `c={"d":-1.5e3}`, `e=true`}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("members (-want +got):\n%s", d)
	}
}

func TestString(t *testing.T) {
	for in, want := range map[string]string{
		`""`: "", `"a"`: "a", `"\"\\\/\b\f\n\r\t"`: "\"\\/\b\f\n\r\t", `"\u00e9\ud83d\ude00x"`: "é😀x", `1`: "", `"é"`: "é",
	} {
		if got := jsonrpc.String([]byte(in)); got != want {
			t.Errorf("String(%s) = %q, want %q", in, got, want)
		}
	}
}

// BenchmarkDecode shows that a message costs no allocation.
func BenchmarkDecode(b *testing.B) {
	in := []byte(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://static-text","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"wrk","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if _, err := jsonrpc.Decode(in); err != nil {
			b.Fatal(err)
		}
	}
}
