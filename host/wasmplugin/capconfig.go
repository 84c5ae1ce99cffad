package wasmplugin

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reshost/reshost/abi"
)

// maxConfig bounds a plugin's configuration, in bytes.
const maxConfig = 1 << 20

// guestConfig answers reshost_config_v1: the operator's object, and the names that the operator chose.
type guestConfig struct {
	object  jsontext.Value
	schemes map[string]string
	roots   map[string]string
}

func newGuestConfig(text []byte, schemes, roots map[string]string) (*guestConfig, error) {
	if len(text) == 0 {
		text = []byte("{}")
	}
	if len(text) > maxConfig {
		return nil, fmt.Errorf("config: %d bytes, more than the limit of %d", len(text), maxConfig)
	}
	v := jsontext.Value(text).Clone()
	if err := checkDepth(v, maxManifestDepth); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	if err := v.Format(); err != nil {
		return nil, fmt.Errorf("config: %w", jsonError(err))
	}
	if v.Kind() != '{' {
		return nil, fmt.Errorf("config: it must be a JSON object")
	}
	return &guestConfig{object: v, schemes: schemes, roots: roots}, nil
}

// get resolves a JSON Pointer (RFC 6901): scalars as plain text, the rest as JSON.
func (g *guestConfig) get(pointer string) (string, abi.Status) {
	if name, ok := strings.CutPrefix(pointer, abi.ConfigSchemes); ok {
		return named(g.schemes, name)
	}
	if name, ok := strings.CutPrefix(pointer, abi.ConfigRoots); ok {
		return named(g.roots, name)
	}
	if pointer == abi.ConfigAllRoots {
		return objectOf(g.roots)
	}
	v := g.object
	if pointer != "" {
		if pointer[0] != '/' {
			return "", abi.StatusInvalid
		}
		for token := range strings.SplitSeq(pointer[1:], "/") {
			token, ok := unescapeToken(token)
			if !ok {
				return "", abi.StatusInvalid
			}
			if v, ok = child(v, token); !ok {
				return "", abi.StatusNotFound
			}
		}
	}
	if v.Kind() == '"' {
		s, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return "", abi.StatusInternal
		}
		return string(s), abi.StatusOK
	}
	return string(v), abi.StatusOK
}

// objectOf writes a map as a JSON object.
func objectOf(m map[string]string) (string, abi.Status) {
	if m == nil {
		m = map[string]string{}
	}
	b, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		return "", abi.StatusInternal
	}
	return string(b), abi.StatusOK
}

func named(m map[string]string, token string) (string, abi.Status) {
	name, ok := unescapeToken(token)
	if !ok {
		return "", abi.StatusInvalid
	}
	s, ok := m[name]
	if !ok {
		return "", abi.StatusNotFound
	}
	return s, abi.StatusOK
}

// unescapeToken decodes one reference token (RFC 6901 section 4).
func unescapeToken(s string) (string, bool) {
	for i := range len(s) {
		if s[i] == '~' && (i+1 == len(s) || s[i+1] != '0' && s[i+1] != '1') {
			return "", false
		}
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~"), true
}

// child returns a member of an object or an element of an array.
func child(v jsontext.Value, token string) (jsontext.Value, bool) {
	switch v.Kind() {
	case '{':
		members, err := splitObject(v)
		if err != nil {
			return nil, false
		}
		for _, m := range members {
			if m.name == token {
				return m.value, true
			}
		}
	case '[':
		n, err := strconv.Atoi(token)
		if err != nil || n < 0 || strconv.Itoa(n) != token {
			return nil, false
		}
		return element(v, n)
	}
	return nil, false
}

// element returns the n-th element of an array.
func element(v jsontext.Value, n int) (jsontext.Value, bool) {
	d := jsontext.NewDecoder(strings.NewReader(string(v)))
	if _, err := d.ReadToken(); err != nil {
		return nil, false
	}
	for i := 0; d.PeekKind() != ']'; i++ {
		e, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		if i == n {
			return e.Clone(), true
		}
	}
	return nil, false
}

// configModule is reshost_config_v1. It needs no grant: what is in it was written for the guest.
func configModule(g *guestConfig) hostModule {
	return hostModule{abi.ImportConfigGet: {fn: func(_ context.Context, _ *call, m guestMemory, stack []uint64) {
		pointer, ok := m.path(uint32(stack[0]), uint32(stack[1]))
		if !ok {
			stack[0] = result(-int32(abi.StatusInvalid))
			return
		}
		v, status := g.get(pointer)
		if status != abi.StatusOK {
			stack[0] = result(-int32(status))
			return
		}
		stack[0] = result(m.fill(uint32(stack[2]), uint32(stack[3]), []byte(v)))
	}}}
}
