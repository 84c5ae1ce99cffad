package config

import (
	"maps"
	"reflect"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// Show returns the configuration as YAML, secrets masked. With effective set it shows defaults too and all paths are
// absolute; without, only the keys that stand in the file.
func (c *Config) Show(effective bool) ([]byte, error) {
	return yaml.Dump(c.node(effective))
}

// ShowJSON is Show as one line of JSON.
func (c *Config) ShowJSON(effective bool) JSON {
	d := &decoder{pos: make(map[string]Pos), printing: true}
	return d.toJSON(c.node(effective), "")
}

func (c *Config) node(effective bool) *yaml.Node {
	p := printer{cfg: c, effective: effective || c.file == ""}
	return p.section(reflect.ValueOf(c).Elem(), "")
}

// printer turns a Config back into YAML nodes.
type printer struct {
	cfg       *Config
	effective bool
}

func (p printer) section(v reflect.Value, key string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range fieldsOf(v.Type()) {
		fv, path := v.Field(f.index), childKey(key, f.key)
		if f.soon || !p.shown(fv, path) {
			continue
		}
		if child := p.value(fv, &f, path); child != nil {
			n.Content = append(n.Content, text(f.key), child)
		}
	}
	return n
}

// shown reports whether a key is printed: those of the file always; else, when all are wanted, those with a value.
func (p printer) shown(v reflect.Value, key string) bool {
	if _, ok := p.cfg.pos[key]; ok {
		return true
	}
	return (p.effective || key == "plugins") && !v.IsZero() || shapeOf(v.Type()) == shapeSection && v.Kind() == reflect.Struct && p.effective
}

func (p printer) value(v reflect.Value, f *field, key string) *yaml.Node {
	switch shapeOf(v.Type()) {
	case shapeSection:
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return nil
			}
			v = v.Elem()
		}
		if n := p.section(v, key); len(n.Content) > 0 {
			return n
		}
		return nil
	case shapeList:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			n.Content = append(n.Content, p.value(v.Index(i), f, indexKey(key, i)))
		}
		if v.Len() == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	case shapeMap:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, name := range slices.Sorted(maps.Keys(mapNames(v))) {
			n.Content = append(n.Content, text(name), p.value(v.MapIndex(reflect.ValueOf(name)), f, childKey(key, name)))
		}
		return n
	case shapeJSON:
		return fromJSON(v.Bytes())
	}
	return scalarNode(v, f)
}

func mapNames(v reflect.Value) map[string]bool {
	names := make(map[string]bool, v.Len())
	for _, k := range v.MapKeys() {
		names[k.String()] = true
	}
	return names
}

func scalarNode(v reflect.Value, f *field) *yaml.Node {
	if f.off && v.CanInt() && v.Int() < 0 {
		return text("off")
	}
	switch x := v.Interface().(type) {
	case Duration:
		return text(x.String())
	case Bytes:
		if s := x.String(); !isDigit(s[len(s)-1]) {
			return text(s)
		}
		return plain("!!int", strconv.FormatInt(int64(x), 10))
	case Secret:
		return text(x.String())
	case bool:
		return plain("!!bool", strconv.FormatBool(x))
	case int:
		return plain("!!int", strconv.Itoa(x))
	}
	return text(v.String())
}

// text returns a node for a string, quoted where YAML would read it as something else.
func text(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
}

func plain(tag, s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: s} }

// fromJSON reads JSON as YAML, of which it is a subset, and sheds its flow style.
func fromJSON(j []byte) *yaml.Node {
	var doc yaml.Node
	if len(j) == 0 || yaml.Load(j, &doc) != nil || len(doc.Content) != 1 {
		return nil
	}
	var block func(*yaml.Node)
	block = func(n *yaml.Node) {
		if len(n.Content) > 0 || n.Kind == yaml.ScalarNode {
			n.Style = 0
		}
		for _, child := range n.Content {
			block(child)
		}
	}
	block(doc.Content[0])
	return doc.Content[0]
}
