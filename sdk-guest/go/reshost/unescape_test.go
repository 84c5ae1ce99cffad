package reshost

import "testing"

func TestUnescape(t *testing.T) {
	tests := []struct {
		name, in, want string
		bad            bool
	}{
		{name: "nothing to do", in: "/srv/docs", want: "/srv/docs"},
		{name: "decoded once", in: "/a%20b%2520c", want: "/a b%20c"},
		{name: "either case", in: "%c3%A9", want: "é"},
		{name: "only encodings", in: "%41%42", want: "AB"},
		{name: "any byte", in: "%00%ff", want: "\x00\xff"},
		{name: "cut", in: "a%4", bad: true},
		{name: "a lone sign", in: "100%", bad: true},
		{name: "not hexadecimal", in: "%4g", bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Unescape(tt.in)
			if got != tt.want || ok == tt.bad {
				t.Errorf("Unescape(%q) = %q, %t", tt.in, got, ok)
			}
		})
	}
}

func FuzzUnescape(f *testing.F) {
	f.Add("a b%")
	f.Fuzz(func(t *testing.T, s string) {
		for _, escaped := range []string{EscapeSegment(s), EscapePath(s)} {
			if got, ok := Unescape(escaped); !ok || got != s {
				t.Errorf("%q became %q and then %q", s, escaped, got)
			}
		}
		Unescape(s)
	})
}
