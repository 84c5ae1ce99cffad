package mcp

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/reshost/reshost/host/internal/jsonrpc"
)

// checkHeader compares the headers that mirror the body with it (rule H2).
func (c *call) checkHeader() error {
	h, m := c.req.Header, &c.req.Message
	if !lineIs(h.Method, m.Method) {
		return headerMismatch(HeaderMethod)
	}
	if m.Method != methodRead {
		return nil
	}
	for o := jsonrpc.Members(m.Params); o.Next(); {
		if o.Is("uri") && jsonrpc.KindOf(o.Value) == jsonrpc.Text {
			if len(h.Name) != 1 || !NameMatches(h.Name[0], jsonrpc.String(o.Value)) {
				return headerMismatch(HeaderName)
			}
		}
	}
	return nil
}

// lineIs reports whether a header came in one line with that value.
func lineIs(lines []string, value string) bool { return len(lines) == 1 && lines[0] == value }

// NameMatches reports whether the value of an Mcp-Name header stands for name. A value of the form =?base64?…?= is
// decoded first and stands for nothing else, so a plain name of that form must come encoded. Any other value is
// compared byte for byte, raw UTF-8 too, which a widespread client sends.
func NameMatches(value, name string) bool {
	const prefix, suffix = "=?base64?", "?="
	if len(value) < len(prefix)+len(suffix) || !strings.HasPrefix(value, prefix) || !strings.HasSuffix(value, suffix) {
		return value == name
	}
	// Encoded and not decoded, since a name has one spelling: a decoder would pass over line breaks.
	return value[len(prefix):len(value)-len(suffix)] == base64.StdEncoding.EncodeToString([]byte(name))
}

// headerMismatch is the answer to a header that is missing, doubled, malformed or other than the body.
func headerMismatch(header string) *failure {
	return &failure{
		wire:   jsonrpc.Error{Code: codeHeaderMismatch, Message: "Header mismatch: " + header + " must be sent once and equal the body"},
		status: http.StatusBadRequest,
	}
}
