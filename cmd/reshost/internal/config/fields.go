package config

import (
	"reflect"
	"strconv"
	"strings"
)

// field is one row of the table: a key of a section, read from the tags of [Config].
type field struct {
	index                  int
	key, doc, def, example string
	enum                   []string
	min, max               *int64
	off, required, soon    bool
}

// fieldsOf returns the rows of a section in the order of the struct. A tag that does not parse is a mistake in this
// package; TestTable reports it.
func fieldsOf(t reflect.Type) []field {
	fields := make([]field, 0, t.NumField())
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		key, ok := tag.Lookup("key")
		if !ok {
			continue
		}
		f := field{
			index: i, key: key, doc: tag.Get("doc"), def: tag.Get("default"), example: tag.Get("example"),
			off: tag.Get("off") == "true", required: tag.Get("required") == "true", soon: tag.Get("soon") == "true",
			min: bound(tag.Get("min")), max: bound(tag.Get("max")),
		}
		if enum := tag.Get("enum"); enum != "" {
			f.enum = strings.Split(enum, "|")
		}
		fields = append(fields, f)
	}
	return fields
}

func bound(s string) *int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// keysOf returns the keys that this build takes.
func keysOf(fields []field) []string {
	keys := make([]string, 0, len(fields))
	for i := range fields {
		if !fields[i].soon {
			keys = append(keys, fields[i].key)
		}
	}
	return keys
}

// shape is what a key's value looks like in the file.
type shape int

const (
	shapeText shape = iota
	shapeBool
	shapeInt
	shapeDuration
	shapeBytes
	shapePath
	shapeSecret
	shapeJSON
	shapeSection
	shapeList
	shapeMap
)

// shapes of the types that are not told by their kind.
func shapeOf(t reflect.Type) shape {
	switch t {
	case reflect.TypeFor[Duration]():
		return shapeDuration
	case reflect.TypeFor[Bytes]():
		return shapeBytes
	case reflect.TypeFor[Path]():
		return shapePath
	case reflect.TypeFor[Secret]():
		return shapeSecret
	case reflect.TypeFor[JSON]():
		return shapeJSON
	}
	switch t.Kind() {
	case reflect.Bool:
		return shapeBool
	case reflect.Int:
		return shapeInt
	case reflect.Pointer, reflect.Struct:
		return shapeSection
	case reflect.Slice:
		return shapeList
	case reflect.Map:
		return shapeMap
	}
	return shapeText
}

// section returns the struct type behind t, which may be a pointer.
func section(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
