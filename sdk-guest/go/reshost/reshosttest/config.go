package reshosttest

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/reshost/reshost/abi"
)

// ConfigGet answers a JSON Pointer.
func (h *host) ConfigGet(pointer string, buf []byte) int {
	value, ok := h.lookup(pointer)
	if !ok {
		return -int(abi.StatusNotFound)
	}
	if len(value) <= len(buf) {
		copy(buf, value)
	}
	return len(value)
}

func (h *host) lookup(pointer string) (string, bool) {
	if name, ok := strings.CutPrefix(pointer, abi.ConfigSchemes); ok {
		name = unescape(name)
		if s := h.opts.Schemes[name]; s != "" {
			return s, true
		}
		return name, true
	}
	if name, ok := strings.CutPrefix(pointer, abi.ConfigRoots); ok {
		name = unescape(name)
		if h.opts.Roots[name] == nil {
			return "", false
		}
		return h.prefix(name), true
	}
	if pointer == abi.ConfigAllRoots {
		all := make(map[string]any, len(h.opts.Roots))
		for name := range h.opts.Roots {
			all[name] = h.prefix(name)
		}
		return text(all)
	}
	v := h.config
	if v == nil {
		v = map[string]any{}
	}
	if pointer != "" {
		if pointer[0] != '/' {
			return "", false
		}
		for _, token := range strings.Split(pointer[1:], "/") {
			var ok bool
			if v, ok = member(v, unescape(token)); !ok {
				return "", false
			}
		}
	}
	return text(v)
}

// prefix is the URI path prefix of a root.
func (h *host) prefix(root string) string {
	if p := h.opts.RootPrefixes[root]; p != "" {
		return p
	}
	return "/" + root
}

// member steps into an object or array.
func member(v any, token string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		m, ok := v[token]
		return m, ok
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(v) || strconv.Itoa(i) != token {
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}

// text is a scalar as plain text, anything else as JSON.
func text(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "null", true
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	b, err := json.Marshal(v)
	return string(b), err == nil
}

func unescape(token string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}
