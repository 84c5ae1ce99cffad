// Package pluginschema checks a plugin's configuration against the JSON Schema that the plugin's manifest carries. Only
// cmd/reshost imports it.
//
//	problems, err := pluginschema.Check(ctx, manifest.ConfigSchema, config)
//
// A schema comes from a plugin and is not trusted: it is bounded in size and in the time that a check may take, and nothing that it
// refers to is loaded, from the network or from files, save the published drafts of JSON Schema, which are part of the program.
//
// # Errors
//
// What is wrong with the configuration is a list of [Problem]. An error means that the schema itself cannot be used, and that is the
// plugin's fault.
package pluginschema

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

const (
	// maxSchema bounds the text of a schema.
	maxSchema = 128 << 10
	// maxTime bounds compiling and checking. A schema that refers to itself twice over can take any time.
	maxTime = 5 * time.Second
	// maxProblems bounds what is reported of one configuration.
	maxProblems = 20
	// location names the schema where it refers to itself; nothing is there to be loaded.
	location = "https://plugin.invalid/config_schema"
)

// Problem is one thing that a schema does not allow.
type Problem struct {
	// Path leads to the value: a string for a key, an int for an item of a list. Empty: the configuration as a whole.
	Path []any
	// Message says what is wrong, on one line.
	Message string
	// Known are the keys that the schema names where an unknown one stands; nil for other problems.
	Known []string
}

// Check holds config, the text of a JSON object or nil for an absent one, against a schema. Both must be JSON that was decoded
// strictly before. Without a schema every configuration passes.
func Check(ctx context.Context, schema, config []byte) ([]Problem, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	if len(schema) > maxSchema {
		return nil, fmt.Errorf("it has %d bytes, more than the limit of %d", len(schema), maxSchema)
	}
	if len(config) == 0 {
		config = []byte("{}")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, errors.New("checking takes too long"))
	defer cancel()
	type result struct {
		problems []Problem
		err      error
	}
	// The library cannot be interrupted. What is left of a check that took too long ends with the program, which does not start.
	done := make(chan result, 1)
	go func() {
		problems, err := check(schema, config)
		done <- result{problems, err}
	}()
	select {
	case r := <-done:
		return r.problems, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func check(schema, config []byte) ([]Problem, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(config))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(location, doc); err != nil {
		return nil, oneLine(err)
	}
	compiled, err := c.Compile(location)
	if err != nil {
		return nil, oneLine(err)
	}
	var invalid *jsonschema.ValidationError
	switch err := compiled.Validate(value); {
	case err == nil:
		return nil, nil
	case !errors.As(err, &invalid):
		return nil, oneLine(err)
	}
	r := reporter{schema: doc, value: value}
	r.walk(invalid)
	return r.problems, nil
}

// noLoader loads nothing: a plugin's schema must not make the host fetch or open anything.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.New("it refers to " + url + ", and references to other documents are not followed")
}

func oneLine(err error) error { return errors.New(strings.Join(strings.Fields(err.Error()), " ")) }

// reporter turns the library's tree of errors into a list.
type reporter struct {
	schema, value any
	problems      []Problem
}

func (r *reporter) walk(e *jsonschema.ValidationError) {
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range e.Causes {
			r.walk(cause)
		}
	case *kind.AdditionalProperties:
		known := r.properties(e.SchemaURL)
		slices.Sort(k.Properties)
		for _, name := range k.Properties {
			r.add(Problem{Path: append(r.path(e), name), Message: "unknown key", Known: known})
		}
	case *kind.FalseSchema:
		r.add(Problem{Path: r.path(e), Message: "this key is not allowed here"})
	case *kind.Required:
		for _, name := range k.Missing {
			r.add(Problem{Path: append(r.path(e), name), Message: "this key is required"})
		}
	case *kind.Type:
		want := make([]string, len(k.Want))
		for i, w := range k.Want {
			want[i] = word(w)
		}
		r.add(Problem{Path: r.path(e), Message: fmt.Sprintf("want %s, got %s", strings.Join(want, " or "), word(k.Got))})
	case *kind.Enum:
		want := make([]string, len(k.Want))
		for i, w := range k.Want {
			want[i] = fmt.Sprint(w)
		}
		r.add(Problem{Path: r.path(e), Message: fmt.Sprintf("want one of %s, got %v", strings.Join(want, ", "), k.Got)})
	case *kind.Minimum:
		r.add(Problem{Path: r.path(e), Message: fmt.Sprintf("want at least %s, got %s", number(k.Want), number(k.Got))})
	case *kind.Maximum:
		r.add(Problem{Path: r.path(e), Message: fmt.Sprintf("want at most %s, got %s", number(k.Want), number(k.Got))})
	case *kind.MinLength:
		message := fmt.Sprintf("want at least %d characters, got %d", k.Want, k.Got)
		if k.Want == 1 {
			message = "want text, got an empty one"
		}
		r.add(Problem{Path: r.path(e), Message: message})
	case *kind.MaxLength:
		r.add(Problem{Path: r.path(e), Message: fmt.Sprintf("want at most %d characters, got %d", k.Want, k.Got)})
	case *kind.AnyOf, *kind.OneOf:
		r.add(Problem{Path: r.path(e), Message: "this is none of the forms that the plugin takes here"})
	default:
		r.add(Problem{Path: r.path(e), Message: text(e)})
	}
}

func (r *reporter) add(p Problem) {
	if len(r.problems) < maxProblems {
		p.Message = strings.Join(strings.Fields(p.Message), " ")
		r.problems = append(r.problems, p)
	}
}

// path returns an error's place in the value; what is a number there is an index only in a list.
func (r *reporter) path(e *jsonschema.ValidationError) []any {
	path, at := make([]any, 0, len(e.InstanceLocation)+1), r.value
	for _, token := range e.InstanceLocation {
		switch v := at.(type) {
		case []any:
			if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(v) {
				path, at = append(path, i), v[i]
			}
		case map[string]any:
			path, at = append(path, token), v[token]
		}
	}
	return path
}

// properties returns the keys that the schema at url names, sorted.
func (r *reporter) properties(url string) []string {
	at := r.schema
	_, pointer, _ := strings.Cut(url, "#")
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch v := at.(type) {
		case map[string]any:
			at = v[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			at = v[i]
		}
	}
	o, _ := at.(map[string]any)
	properties, _ := o["properties"].(map[string]any)
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// text returns what the library says about an error without causes of interest.
func text(e *jsonschema.ValidationError) string {
	unit := (&jsonschema.ValidationError{SchemaURL: e.SchemaURL, InstanceLocation: e.InstanceLocation, ErrorKind: e.ErrorKind}).DetailedOutput()
	if unit.Error == nil {
		return "the plugin does not take this"
	}
	return unit.Error.String()
}

// number writes a number without rounding where it is whole.
func number(n *big.Rat) string {
	if n.IsInt() {
		return n.Num().String()
	}
	f, _ := n.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// word names a JSON type as the rest of the configuration's messages do.
func word(name string) string {
	switch name {
	case "string":
		return "text"
	case "integer":
		return "a whole number"
	case "number":
		return "a number"
	case "boolean":
		return "true or false"
	case "null":
		return "nothing"
	case "array":
		return "a list"
	}
	return "keys and values"
}
