package config

import (
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"
)

// want says in words what a key takes.
func want(t reflect.Type, f *field) string {
	var s string
	switch shapeOf(t) {
	case shapeBool:
		s = "true or false"
	case shapeInt:
		switch {
		case f.min != nil && f.max != nil:
			s = fmt.Sprintf("a number from %d to %d", *f.min, *f.max)
		case f.min != nil:
			s = fmt.Sprintf("a number of at least %d", *f.min)
		default:
			s = "a number"
		}
	case shapeDuration:
		s = "a duration such as 30s"
	case shapeBytes:
		s = "a size such as 64KiB"
	case shapePath:
		s = "a path"
	case shapeSecret:
		s = "text or a reference such as ${env:NAME}"
	case shapeJSON, shapeSection:
		s = "keys and values"
	case shapeList:
		s = "a list"
	case shapeMap:
		s = "names and values"
	default:
		s = "text"
		if f.enum != nil {
			s = "one of " + strings.Join(f.enum, ", ")
		}
	}
	if f.off {
		s += ", or off"
	}
	return s
}

// describe says in words what a node is that stands where a value of type t belongs, without a value that may be secret.
func describe(n *yaml.Node, t reflect.Type) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys and values"
	case yaml.SequenceNode:
		return "a list"
	}
	tag := n.ShortTag()
	if tag == "!!null" {
		return "nothing"
	}
	kind, known := map[string]string{
		"!!bool": "truth value", "!!int": "number", "!!float": "number", "!!timestamp": "date", "!!str": "text",
	}[tag]
	switch {
	case !known:
		return "a value with the tag " + clip(tag)
	case holdsSecret(t):
		return "only a " + kind
	case tag == "!!str":
		return fmt.Sprintf("the text %q", clip(n.Value))
	}
	return "the " + kind + " " + clip(n.Value)
}

// holdsSecret reports whether a secret stands in a value of type t: what was written in its place may be one, put there
// without the brackets or the name that belong around it.
func holdsSecret(t reflect.Type) bool {
	switch {
	case t == reflect.TypeFor[Secret]():
		return true
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Map, t.Kind() == reflect.Pointer:
		return holdsSecret(t.Elem())
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			if holdsSecret(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// childKey and indexKey build the path of a key; parentKey undoes them.
func childKey(parent, key string) string {
	if key == "" || strings.ContainsAny(key, ".[]\" \t\n") {
		key = fmt.Sprintf("%q", clip(key))
	}
	if parent == "" {
		return key
	}
	return parent + "." + key
}

func indexKey(parent string, i int) string { return fmt.Sprintf("%s[%d]", parent, i) }

// Key returns the path of what path leads to below the key parent, as [Config.At] takes it: a string is a key, an int an item of a
// list.
func Key(parent string, path ...any) string {
	for _, step := range path {
		switch step := step.(type) {
		case int:
			parent = indexKey(parent, step)
		case string:
			parent = childKey(parent, step)
		}
	}
	return parent
}

// UnknownKey returns the message about a key that is none of known: the nearest of them, or all.
func UnknownKey(name, parent string, known []string) string {
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("unknown key; did you mean %q?", near)
	}
	where := "here"
	if parent != "" {
		where = "in " + parent
	}
	switch len(known) {
	case 0:
		return "unknown key; there are none " + where
	case 1:
		return "unknown key; the only key " + where + " is " + known[0]
	}
	return "unknown key; the keys " + where + " are " + strings.Join(known, ", ")
}

func parentKey(key string) string { return key[:max(0, strings.LastIndexAny(key, ".["))] }
