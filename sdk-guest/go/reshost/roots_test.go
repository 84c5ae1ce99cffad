package reshost

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/abi"
)

// rootsHost answers one pointer of the config.
type rootsHost struct {
	NativeHost
	roots string
}

func (h rootsHost) ConfigGet(pointer string, buf []byte) int {
	if pointer != abi.ConfigAllRoots || h.roots == "" {
		return -int(abi.StatusNotFound)
	}
	if len(buf) >= len(h.roots) {
		copy(buf, h.roots)
	}
	return len(h.roots)
}

func TestRoots(t *testing.T) {
	tests := []struct {
		name, json string
		want       []Root
	}{
		{"none", "", nil},
		{"empty", "{}", nil},
		{"one", `{"main":"/srv/docs"}`, []Root{{"main", "/srv/docs"}}},
		{"in the order of their names", ` { "b" : "/b" , "a" : "/a" } `, []Root{{"a", "/a"}, {"b", "/b"}}},
		{"escapes", `{"a\"\\\/\b\f\n\r\t":"\u00e9\uD83D\uDE00 \ud800"}`, []Root{{"a\"\\/\b\f\n\r\t", "é😀 \ufffd"}}},
		{"bytes outside ASCII", `{"ä":"/日本"}`, []Root{{"ä", "/日本"}}},
		{"cut", `{"a":"/a","b":"/`, []Root{{"a", "/a"}}},
		{"not a string", `{"a":1}`, nil},
		{"not an object", `["a"]`, nil},
		{"a bad escape", `{"a":"\x"}`, nil},
		{"a short escape", `{"a":"\u12"}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Config{host{rootsHost{roots: tt.json}}}.Roots()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Roots() (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzRoots(f *testing.F) {
	f.Add(`{"a":"\ud83d\ude00"}`)
	f.Fuzz(func(t *testing.T, text string) {
		Config{host{rootsHost{roots: text}}}.Roots()
	})
}
