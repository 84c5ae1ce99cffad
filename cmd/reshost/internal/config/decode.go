package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

const (
	// maxNodes bounds the values of a file, each counted as often as an alias repeats it.
	maxNodes = 20_000
	// maxDepth bounds their nesting.
	maxDepth = 32
)

// decoder fills the structs from YAML nodes and gathers every fault on the way.
type decoder struct {
	collector
	dir   string
	text  []byte
	nodes int
	pos   map[string]Pos
	// printing says that the nodes come from Config.Show: references are shown, not refused.
	printing bool
}

// entry is one key of a mapping.
type entry struct {
	key   string
	at    *yaml.Node
	value *yaml.Node
}

func (d *decoder) fault(n *yaml.Node, key, format string, args ...any) {
	d.add(Pos{n.Line, n.Column}, key, format, args...)
}

// enter follows an alias, counts the node and notes its place. It reports whether the node may be looked at.
func (d *decoder) enter(n *yaml.Node, key string, depth int) (*yaml.Node, bool) {
	at := n
	for n.Kind == yaml.AliasNode && n.Alias != nil && n.Alias != n {
		n = n.Alias
	}
	d.nodes++
	switch {
	case d.nodes == maxNodes+1:
		d.fault(at, key, "the file is too large: more than %d values, aliases counted each time", maxNodes)
		return n, false
	case d.nodes > maxNodes:
		return n, false
	case depth > maxDepth:
		d.fault(at, key, "nested deeper than %d levels", maxDepth)
		return n, false
	}
	if _, ok := d.pos[key]; !ok {
		d.pos[key] = Pos{at.Line, at.Column}
	}
	return n, true
}

// entries returns the keys of a mapping; doubles and keys that are not text are faults.
func (d *decoder) entries(n *yaml.Node, key string) []entry {
	var entries []entry
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.ShortTag() == "!!merge":
			d.fault(k, key, "merge keys (<<) are not supported: repeat the keys, or name a whole section with an alias")
			continue
		case k.Kind != yaml.ScalarNode || k.ShortTag() == "!!null":
			d.fault(k, key, "a key must be text")
			continue
		}
		if line, ok := seen[k.Value]; ok {
			d.fault(k, childKey(key, k.Value), "this key stands already on line %d", line)
			continue
		}
		seen[k.Value] = k.Line
		entries = append(entries, entry{k.Value, k, v})
	}
	return entries
}

// value decodes n into v, whose meaning f describes.
func (d *decoder) value(n *yaml.Node, v reflect.Value, f *field, key string, depth int) {
	n, ok := d.enter(n, key, depth)
	if !ok {
		return
	}
	switch shapeOf(v.Type()) {
	case shapeSection:
		d.section(n, v, key, depth)
	case shapeList:
		d.list(n, v, f, key, depth)
	case shapeMap:
		d.mapping(n, v, f, key, depth)
	case shapeJSON:
		if n.Kind != yaml.MappingNode {
			d.fault(n, key, "want keys and values, got %s", describe(n, v.Type()))
			return
		}
		v.SetBytes(d.toJSON(n, key))
	default:
		if n.Kind != yaml.ScalarNode {
			d.fault(n, key, "want %s, got %s", want(v.Type(), f), describe(n, v.Type()))
			return
		}
		d.scalar(n, v, f, key)
	}
}

func (d *decoder) section(n *yaml.Node, v reflect.Value, key string, depth int) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	fields := fieldsOf(v.Type())
	setDefaults(v, fields)
	if isNull(n) {
		d.required(n, fields, nil, key)
		return
	}
	if n.Kind != yaml.MappingNode {
		d.fault(n, key, "want keys and values, got %s", describe(n, v.Type()))
		return
	}
	present := make(map[string]bool, len(fields))
	for _, e := range d.entries(n, key) {
		path := childKey(key, e.key)
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == e.key })
		if i < 0 {
			d.fault(e.at, path, "%s", UnknownKey(e.at.Value, key, keysOf(fields)))
			continue
		}
		present[e.key] = true
		d.pos[path] = Pos{e.at.Line, e.at.Column}
		if fields[i].soon {
			d.fault(e.at, path, "not supported yet by this build: remove it")
			continue
		}
		d.value(e.value, v.Field(fields[i].index), &fields[i], path, depth+1)
	}
	d.required(n, fields, present, key)
}

func (d *decoder) required(n *yaml.Node, fields []field, present map[string]bool, key string) {
	for i := range fields {
		f := &fields[i]
		if !f.required || present[f.key] {
			continue
		}
		message := "this key is required"
		if f.example != "" {
			message += fmt.Sprintf(", such as %s: %s", f.key, f.example)
		}
		d.fault(n, childKey(key, f.key), "%s", message)
	}
}

func (d *decoder) list(n *yaml.Node, v reflect.Value, f *field, key string, depth int) {
	if isNull(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.fault(n, key, "want a list, got %s", describe(n, v.Type()))
		return
	}
	items := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		d.value(item, items.Index(i), f, indexKey(key, i), depth+1)
	}
	v.Set(items)
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, f *field, key string, depth int) {
	if isNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.fault(n, key, "want names and values, got %s", describe(n, v.Type()))
		return
	}
	m := reflect.MakeMap(v.Type())
	for _, e := range d.entries(n, key) {
		item := reflect.New(v.Type().Elem()).Elem()
		path := childKey(key, e.key)
		d.pos[path] = Pos{e.at.Line, e.at.Column}
		d.value(e.value, item, f, path, depth+1)
		m.SetMapIndex(reflect.ValueOf(e.key), item)
	}
	v.Set(m)
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, f *field, key string) {
	s := shapeOf(v.Type())
	if err := checkTag(n, s, v.Type(), f); err != nil {
		d.fault(n, key, "%v", err)
		return
	}
	if s != shapeSecret {
		if ref := reference(n.Value); ref != "" {
			d.fault(n, key, "%s cannot stand here: only secrets, server.keys and headers of grants.http may hold one", ref)
			return
		}
	}
	if err := setScalar(v, f, n.Value, d.dir); err != nil {
		d.fault(n, key, "%v", err)
	}
}

// checkTag refuses what YAML resolved to another type than the key has, such as a number where a name belongs.
func checkTag(n *yaml.Node, s shape, t reflect.Type, f *field) error {
	tag := n.ShortTag()
	ok := tag == "!!str"
	switch s {
	case shapeBool:
		ok = tag == "!!bool"
	case shapeInt:
		ok = tag == "!!int" || f.off && n.Value == "off"
	case shapeBytes, shapeDuration:
		ok = ok || tag == "!!int"
	case shapeText:
		ok = ok || tag == "!!timestamp" // a revision's name is a date
	}
	switch {
	case ok:
		return nil
	case tag == "!!null":
		return fmt.Errorf("want %s, got nothing: give a value or remove the key", want(t, f))
	case s == shapeText && f.enum == nil && (tag == "!!int" || tag == "!!float" || tag == "!!bool"):
		return fmt.Errorf("want text, got %s: quote it", describe(n, t))
	}
	return fmt.Errorf("want %s, got %s", want(t, f), describe(n, t))
}

// setScalar parses text into v. It is used for the file's values and for the table's defaults.
func setScalar(v reflect.Value, f *field, text, dir string) (err error) {
	if f.off && text == "off" {
		v.SetInt(-1)
		return nil
	}
	switch shapeOf(v.Type()) {
	case shapeBool:
		v.SetBool(strings.EqualFold(text, "true"))
	case shapeInt:
		return setInt(v, f, text)
	case shapeDuration:
		var d Duration
		d, err = parseDuration(text)
		v.SetInt(int64(d))
	case shapeBytes:
		var b Bytes
		b, err = parseBytes(text)
		v.SetInt(int64(b))
	case shapePath:
		var p Path
		p, err = parsePath(text, dir)
		v.SetString(string(p))
	case shapeSecret:
		var s Secret
		s, err = parseSecret(text)
		v.Set(reflect.ValueOf(s))
	default:
		if f.enum != nil && !slices.Contains(f.enum, text) {
			return enumError(f, text)
		}
		v.SetString(text)
	}
	return err
}

func setInt(v reflect.Value, f *field, text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("want a whole number, got %q", clip(text))
	}
	if (f.min != nil && n < *f.min) || (f.max != nil && n > *f.max) {
		return fmt.Errorf("want %s, got %d", want(v.Type(), f), n)
	}
	v.SetInt(n)
	return nil
}

func enumError(f *field, text string) error {
	if near := nearest(text, f.enum); near != "" && len(f.enum) > 1 {
		return fmt.Errorf("want one of %s, got %q; did you mean %q?", strings.Join(f.enum, ", "), clip(text), near)
	}
	return fmt.Errorf("want one of %s, got %q", strings.Join(f.enum, ", "), clip(text))
}

// setDefaults gives absent scalars their default, and sections that are always there those of their keys.
func setDefaults(v reflect.Value, fields []field) {
	for i := range fields {
		f, fv := &fields[i], v.Field(fields[i].index)
		if fv.Kind() == reflect.Struct && shapeOf(fv.Type()) == shapeSection {
			setDefaults(fv, fieldsOf(fv.Type()))
		} else if f.def != "" {
			// TestTable holds that every default parses.
			_ = setScalar(fv, f, f.def, "")
		}
	}
}
