package config

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"
)

// The text forms of durations and sizes, as the schema states them.
const (
	durationPattern = `^(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`
	bytesPattern    = `^[0-9]+ *(KiB|MiB|GiB|TiB)?$`
)

// soonNote stands in the schema and on the reference page.
const soonNote = "Not supported yet."

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	name  string
	value any // object, []string, []any, string, bool, int, int64
}

// Schema returns the JSON Schema (draft 2020-12) of the file, for editors. A key that is not supported yet is in it and
// allows no value, as in the file itself.
func Schema() ([]byte, error) {
	root := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "reshost configuration"},
	}
	root = append(root, sectionSchema(reflect.TypeFor[Config](), false)...)
	var buf bytes.Buffer
	enc := jsontext.NewEncoder(&buf, jsontext.WithIndent("  "))
	if err := root.write(enc); err != nil {
		return nil, fmt.Errorf("config schema: %w", err)
	}
	return buf.Bytes(), nil
}

func sectionSchema(t reflect.Type, nullable bool) object {
	var properties object
	var required []string
	for _, f := range fieldsOf(t) {
		properties = append(properties, member{f.key, fieldSchema(t.Field(f.index).Type, &f)})
		if f.required {
			required = append(required, f.key)
		}
	}
	o := object{{"type", nullableType("object", nullable && required == nil)}, {"additionalProperties", false}, {"properties", properties}}
	if required != nil {
		o = append(o, member{"required", required})
	}
	return o
}

func nullableType(name string, nullable bool) any {
	if nullable {
		return []string{name, "null"}
	}
	return name
}

func fieldSchema(t reflect.Type, f *field) object {
	if f.soon {
		return object{{"description", f.doc + " " + soonNote}, {"not", object{}}}
	}
	o := object{{"description", f.doc}}
	if f.def != "" {
		o = append(o, member{"default", defaultValue(t, f)})
	}
	return append(o, valueSchema(t, f)...)
}

// defaultValue returns the default as JSON has it: numbers as numbers.
func defaultValue(t reflect.Type, f *field) any {
	if shapeOf(t) == shapeInt {
		v := reflect.New(t).Elem()
		if setScalar(v, f, f.def, "") == nil {
			return v.Int()
		}
	}
	return f.def
}

func valueSchema(t reflect.Type, f *field) object {
	switch shapeOf(t) {
	case shapeBool:
		return object{{"type", "boolean"}}
	case shapeInt:
		o := object{{"type", "integer"}}
		if f.min != nil {
			o = append(o, member{"minimum", *f.min})
		}
		if f.max != nil {
			o = append(o, member{"maximum", *f.max})
		}
		return anyOf(f, o)
	case shapeDuration:
		return anyOf(f, object{{"type", "string"}, {"pattern", durationPattern}}, object{{"const", 0}})
	case shapeBytes:
		return anyOf(f, object{{"type", "string"}, {"pattern", bytesPattern}}, object{{"type", "integer"}, {"minimum", 0}})
	case shapeJSON:
		return object{{"type", "object"}}
	case shapeSection:
		return sectionSchema(section(t), true)
	case shapeList:
		return object{{"type", nullableType("array", true)}, {"items", valueSchema(t.Elem(), f)}}
	case shapeMap:
		return object{{"type", nullableType("object", true)}, {"additionalProperties", valueSchema(t.Elem(), f)}}
	}
	if f.enum != nil {
		return object{{"enum", f.enum}}
	}
	return object{{"type", "string"}}
}

func anyOf(f *field, choices ...object) object {
	if f.off {
		choices = append(choices, object{{"const", "off"}})
	}
	if len(choices) == 1 {
		return choices[0]
	}
	list := make([]any, len(choices))
	for i, c := range choices {
		list[i] = c
	}
	return object{{"anyOf", list}}
}

func (o object) write(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, m := range o {
		if err := enc.WriteToken(jsontext.String(m.name)); err != nil {
			return err
		}
		if err := writeValue(enc, m.value); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

func writeValue(enc *jsontext.Encoder, v any) error {
	switch v := v.(type) {
	case object:
		return v.write(enc)
	case []string:
		return writeArray(enc, v)
	case []any:
		return writeArray(enc, v)
	case string:
		return enc.WriteToken(jsontext.String(v))
	case bool:
		return enc.WriteToken(jsontext.Bool(v))
	case int:
		return enc.WriteToken(jsontext.Int(int64(v)))
	case int64:
		return enc.WriteToken(jsontext.Int(v))
	}
	return fmt.Errorf("no JSON for %T", v)
}

func writeArray[T any](enc *jsontext.Encoder, list []T) error {
	if err := enc.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for _, item := range list {
		if err := writeValue(enc, item); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndArray)
}
