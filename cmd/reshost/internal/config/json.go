package config

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"
)

// JSON is the text of a JSON object; nil when the key is absent.
type JSON []byte

// toJSON writes a YAML node as JSON. Keys keep their order.
func (d *decoder) toJSON(n *yaml.Node, key string) JSON {
	var buf bytes.Buffer
	enc := jsontext.NewEncoder(&buf)
	if !d.writeJSON(enc, n, key, 0) {
		return nil
	}
	return bytes.TrimSpace(buf.Bytes())
}

// writeJSON reports whether it wrote the whole value; what stopped it is in d's faults.
func (d *decoder) writeJSON(enc *jsontext.Encoder, n *yaml.Node, key string, depth int) bool {
	n, ok := d.enter(n, key, depth)
	if !ok {
		return false
	}
	switch n.Kind {
	case yaml.MappingNode:
		return d.writeObject(enc, n, key, depth)
	case yaml.SequenceNode:
		ok := enc.WriteToken(jsontext.BeginArray) == nil
		for i, item := range n.Content {
			ok = d.writeJSON(enc, item, indexKey(key, i), depth+1) && ok
		}
		return ok && enc.WriteToken(jsontext.EndArray) == nil
	}
	token, err := d.jsonScalar(n)
	if err != nil {
		d.fault(n, key, "%v", err)
		return false
	}
	return enc.WriteToken(token) == nil
}

func (d *decoder) writeObject(enc *jsontext.Encoder, n *yaml.Node, key string, depth int) bool {
	ok := enc.WriteToken(jsontext.BeginObject) == nil
	for _, e := range d.entries(n, key) {
		path := childKey(key, e.key)
		d.pos[path] = Pos{e.at.Line, e.at.Column}
		ok = ok && enc.WriteToken(jsontext.String(e.key)) == nil
		ok = d.writeJSON(enc, e.value, path, depth+1) && ok
	}
	return ok && enc.WriteToken(jsontext.EndObject) == nil
}

// jsonScalar converts a YAML scalar. Timestamps stay the text they are; a plugin has no type for them.
func (d *decoder) jsonScalar(n *yaml.Node) (jsontext.Token, error) {
	switch tag := n.ShortTag(); tag {
	case "!!null":
		return jsontext.Null, nil
	case "!!bool":
		return jsontext.Bool(strings.EqualFold(n.Value, "true")), nil
	case "!!int":
		text := strings.ReplaceAll(n.Value, "_", "")
		if i, err := strconv.ParseInt(text, 0, 64); err == nil {
			return jsontext.Int(i), nil
		}
		u, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			return jsontext.Token{}, errInt64(n)
		}
		return jsontext.Uint(u), nil
	case "!!float":
		if isInteger(n) {
			return jsontext.Token{}, errInt64(n)
		}
		f, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return jsontext.Token{}, fmt.Errorf("JSON has no number %s; quote it to make it text", clip(n.Value))
		}
		return jsontext.Float(f), nil
	case "!!str", "!!timestamp":
		if ref := reference(n.Value); ref != "" && !d.printing {
			return jsontext.Token{}, fmt.Errorf("%s cannot stand here: the plugin would read the secret; only secrets, server.keys and headers of grants.http may hold one", ref)
		}
		return jsontext.String(n.Value), nil
	default:
		return jsontext.Token{}, fmt.Errorf("the tag %s has no meaning here", clip(tag))
	}
}

// isInteger reports whether a number is written as an integer; YAML makes those beyond 64 bits floats.
func isInteger(n *yaml.Node) bool {
	switch n.ShortTag() {
	case "!!int":
		return true
	case "!!float":
		return strings.Trim(n.Value, "+-_0123456789") == ""
	}
	return false
}

func errInt64(n *yaml.Node) error {
	return fmt.Errorf("the number %s does not fit into 64 bits; quote it to make it text", clip(n.Value))
}
