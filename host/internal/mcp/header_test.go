package mcp_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/reshost/reshost/host/internal/mcp"
)

// FuzzNameMatches checks that a header stands for at most one name: the one it spells, or the one it encodes.
func FuzzNameMatches(f *testing.F) {
	f.Add("docs://a", "docs://a")
	f.Add(sentinel("docs://a"), "docs://a")
	f.Add("=?base64?ZG9jczovL2F=?=", "docs://a")
	f.Add("=?base64?=", "=?base64?=")
	f.Add("=?base64?ZG9jc\r\nzovL2E=?=", "docs://a")
	f.Fuzz(func(t *testing.T, value, name string) {
		marked := strings.HasPrefix(value, "=?base64?") && strings.HasSuffix(value, "?=") && len(value) >= len("=?base64??=")
		got := mcp.NameMatches(value, name)
		if !marked && got != (value == name) {
			t.Fatalf("NameMatches(%q, %q) = %v", value, name, got)
		}
		if marked && got && value != "=?base64?"+base64.StdEncoding.EncodeToString([]byte(name))+"?=" {
			t.Fatalf("%q stands for %q, which is encoded otherwise", value, name)
		}
		if !mcp.NameMatches(sentinel(name), name) {
			t.Fatalf("%q encoded does not stand for itself", name)
		}
	})
}
