package pluginschema

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const testSchema = `{
	"type": "object",
	"properties": {
		"title": {"type": "string", "minLength": 2},
		"mode": {"enum": ["fast", "slow"]},
		"limit": {"type": "integer", "maximum": 9007199254740993},
		"list": {"type": "array", "items": {"$ref": "#/$defs/item"}},
		"either": {"anyOf": [{"type": "string"}, {"type": "integer"}]}
	},
	"additionalProperties": false,
	"$defs": {"item": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": false}}
}`

func TestCheck(t *testing.T) {
	tests := []struct {
		name, schema, config string
		want                 []Problem
	}{
		{"no schema", "", `{"a":1}`, nil},
		{"absent", testSchema, "", nil},
		{"in order", testSchema, `{"title":"ok","mode":"slow","limit":9007199254740993,"list":[{"path":"x"}],"either":1}`, nil},
		{"unknown key", testSchema, `{"titel":5}`, []Problem{
			{[]any{"titel"}, "unknown key", []string{"either", "limit", "list", "mode", "title"}},
		}},
		{"unknown key within a list", testSchema, `{"list":[{"path":"x"},{"path":"y","pth":1}]}`, []Problem{
			{[]any{"list", 1, "pth"}, "unknown key", []string{"path"}},
		}},
		{"type", testSchema, `{"title":5}`, []Problem{{[]any{"title"}, "want text, got a number", nil}}},
		{"no whole number", testSchema, `{"limit":1.5}`, []Problem{{[]any{"limit"}, "want a whole number, got a number", nil}}},
		{"beyond what a float holds", testSchema, `{"limit":9007199254740994}`, []Problem{
			{[]any{"limit"}, "want at most 9007199254740993, got 9007199254740994", nil},
		}},
		{"enum", testSchema, `{"mode":"fats"}`, []Problem{{[]any{"mode"}, "want one of fast, slow, got fats", nil}}},
		{"required", testSchema, `{"list":[{}]}`, []Problem{{[]any{"list", 0, "path"}, "this key is required", nil}}},
		{"none of several", testSchema, `{"either":[]}`, []Problem{{[]any{"either"}, "this is none of the forms that the plugin takes here", nil}}},
		{"too short", testSchema, `{"title":"a"}`, []Problem{{[]any{"title"}, "want at least 2 characters, got 1", nil}}},
		{"required where nothing is configured", `{"required":["url"]}`, "", []Problem{{[]any{"url"}, "this key is required", nil}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Check(t.Context(), []byte(test.schema), []byte(test.config))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// A plugin's schema makes the host load nothing, neither a file nor anything else, and is bounded.
func TestSchemaRefused(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"of the network", `{"$ref":"http://127.0.0.1:1/schema.json"}`, "references to other documents are not followed"},
		{"of a file", `{"$ref":"file:///etc/passwd"}`, "references to other documents are not followed"},
		{"beside it", `{"$ref":"other.json"}`, "references to other documents are not followed"},
		{"dialect elsewhere", `{"$schema":"https://example.test/draft"}`, "references to other documents are not followed"},
		{"no schema", `{"type":"text"}`, "type"},
		{"bad pattern", `{"properties":{"a":{"pattern":"("}}}`, "regex"},
		{"too large", `{"description":"` + strings.Repeat("x", maxSchema) + `"}`, "more than the limit"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			problems, err := Check(t.Context(), []byte(test.schema), []byte(`{"a":1}`))
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, %v, want one line with %q", problems, err, test.want)
			}
		})
	}
}

// A schema whose references double at each step takes a time that no size bounds: the check is given up.
func TestSchemaThatTakesForever(t *testing.T) {
	schema := `{"$ref":"#/$defs/a0","$defs":{"a22":{}`
	for i := range 22 {
		schema += fmt.Sprintf(`,"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, i+1, i+1)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := Check(ctx, []byte(schema+"}}"), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the time", err)
	}
}

// Only the library's own copies of the drafts are there to be referred to.
func TestDraftsAreKnown(t *testing.T) {
	for _, draft := range []string{"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"} {
		problems, err := Check(t.Context(), []byte(`{"$schema":"`+draft+`","additionalProperties":false}`), []byte(`{"a":1}`))
		if err != nil || len(problems) != 1 {
			t.Errorf("%s: got %v, %v, want one problem", draft, problems, err)
		}
	}
}
