package reshost_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
)

func TestJSON(t *testing.T) {
	var j reshost.JSON
	j.BeginArray().Null().Bool(false).Int(-9223372036854775808).Raw("1.5").BeginObject().EndObject().BeginArray().EndArray()
	j.BeginObject().Key("a").BeginObject().Key("b").Int(0).EndObject().Key("c").String("").EndObject().EndArray()
	const want = `[null,false,-9223372036854775808,1.5,{},[],{"a":{"b":0},"c":""}]`
	if got := string(j.Bytes()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	j.Reset()
	if got := string(j.Int(1).Bytes()); got != "1" {
		t.Errorf("after Reset: %s", got)
	}
}

// FuzzJSONString: whatever the bytes, the text is JSON and reads back as the same string, with U+FFFD for what is not UTF-8.
func FuzzJSONString(f *testing.F) {
	for _, s := range []string{"", "a\"\\/\b\f\n\r\t\x00\x1f\x7f", "é\u2028😀", "\xff\xc0\x80\xed\xa0\x80", "<&>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var j reshost.JSON
		var got string
		if err := json.Unmarshal(j.String(s).Bytes(), &got); err != nil {
			t.Fatalf("%q becomes %s: %v", s, j.Bytes(), err)
		}
		if want := strings.ToValidUTF8(s, "\uFFFD"); strings.ReplaceAll(got, "\uFFFD", "") != strings.ReplaceAll(want, "\uFFFD", "") {
			t.Errorf("%q reads back as %q", s, got)
		}
	})
}

// FuzzEscape: what is escaped decodes to what it was, and has only characters that a URI may hold there.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a b", "a/b?c#d%20", "é:@!$&'()*+,;=", "\x00\xff[]{}|^`\"<>\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for escaped, special := range map[string]string{
			reshost.EscapeSegment(s): "/?#[]@!$&'()*+,;= ", reshost.EscapePath(s): "?#[] ",
		} {
			if got, err := url.PathUnescape(escaped); err != nil || got != s {
				t.Errorf("%q escapes to %q, which is %q, %v", s, escaped, got, err)
			}
			if strings.ContainsAny(escaped, special) {
				t.Errorf("%q escapes to %q, which holds one of %q", s, escaped, special)
			}
		}
	})
}
