package question

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// elicitation is the parameters of [Elicit]: of a form, or of a page to open.
type elicitation struct {
	Mode    *string `json:"mode"`
	Message string  `json:"message"`
	Schema  *form   `json:"requestedSchema"`
	URL     string  `json:"url"`
}

// form is a requestedSchema: a flat object.
type form struct {
	Type       string           `json:"type"`
	Properties map[string]field `json:"properties"`
	Required   []string         `json:"required"`
}

// field is one property of a form.
type field struct {
	Type   string   `json:"type"`
	Format string   `json:"format"`
	Enum   []string `json:"enum"`
	OneOf  []choice `json:"oneOf"`
	Items  *items   `json:"items"`
}

// items are what can be chosen in a field of type array.
type items struct {
	Type  string   `json:"type"`
	Enum  []string `json:"enum"`
	AnyOf []choice `json:"anyOf"`
}

type choice struct {
	Const *string `json:"const"`
	Title *string `json:"title"`
}

func checkElicitation(params []byte) error {
	var e elicitation
	if err := json.Unmarshal(params, &e); err != nil {
		return fmt.Errorf("its params: %w", err)
	}
	if e.Message == "" {
		return errors.New(`its params have no "message"`)
	}
	mode := "form"
	if e.Mode != nil {
		mode = *e.Mode
	}
	switch {
	case mode == "form" && e.Schema == nil:
		return errors.New(`a form has a "requestedSchema"`)
	case mode == "form":
		return e.Schema.check()
	case mode == "url":
		return checkURL(e.URL)
	}
	return fmt.Errorf(`"mode" is %q: want "form" or "url"`, mode)
}

// check holds a form against the restricted subset of JSON Schema that clients can show.
func (f *form) check() error {
	if f.Type != "object" || f.Properties == nil {
		return errors.New(`a "requestedSchema" has the type "object" and "properties"`)
	}
	for name, p := range f.Properties {
		if err := p.check(); err != nil {
			return fmt.Errorf("the property %q: %w", name, err)
		}
		if secret(name) {
			return fmt.Errorf(`the property %q: a form never asks for a secret, since the client and its model see it: use the mode "url"`, name)
		}
	}
	for _, name := range f.Required {
		if _, ok := f.Properties[name]; !ok {
			return fmt.Errorf("%q is required and no property", name)
		}
	}
	return nil
}

func (p *field) check() error {
	switch p.Type {
	case "number", "integer", "boolean":
		return nil
	case "string":
		if p.Format != "" && !slices.Contains([]string{"email", "uri", "date", "date-time"}, p.Format) {
			return fmt.Errorf(`the format %q: want "email", "uri", "date" or "date-time"`, p.Format)
		}
		return checkChoices(p.OneOf)
	case "array":
		if p.Items == nil || (p.Items.Type != "string" || len(p.Items.Enum) == 0) && len(p.Items.AnyOf) == 0 {
			return errors.New(`an array has "items" with an "enum" of strings, or "anyOf"`)
		}
		return checkChoices(p.Items.AnyOf)
	}
	return fmt.Errorf(`the type %q: a form is flat, of "string", "number", "integer" and "boolean", and "array" to choose from`, p.Type)
}

func checkChoices(list []choice) error {
	for _, c := range list {
		if c.Const == nil || c.Title == nil {
			return errors.New(`a choice has "const" and "title"`)
		}
	}
	return nil
}

// secret reports whether a property's name says that its value is a secret. Whoever wants to deceive can: this is for those who do
// not know the rule.
func secret(name string) bool {
	plain := strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z':
			return r + ('a' - 'A')
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		}
		return -1
	}, name)
	switch plain {
	case "secret", "token", "cvv", "cvc":
		return true
	}
	return slices.ContainsFunc([]string{
		"password", "passwd", "passphrase", "apikey", "privatekey", "secretkey", "clientsecret", "accesstoken", "authtoken", "refreshtoken",
		"creditcard", "cardnumber",
	}, func(word string) bool { return strings.Contains(plain, word) })
}

// checkURL admits what a client can open for its user: https, and http on the user's own machine.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return fmt.Errorf(`"url" is %q: want an absolute URL without a user's name`, text)
	}
	if u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()) {
		return nil
	}
	return fmt.Errorf(`"url" is %q: want https`, text)
}

func loopback(name string) bool {
	addr, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && addr.IsLoopback()
}

// sampling is the parameters of [Sample].
type sampling struct {
	Messages []struct {
		Role    string         `json:"role"`
		Content jsontext.Value `json:"content"`
	} `json:"messages"`
	MaxTokens *float64 `json:"maxTokens"`
}

func checkSampling(params []byte) error {
	var s sampling
	if err := json.Unmarshal(params, &s); err != nil {
		return fmt.Errorf("its params: %w", err)
	}
	if len(s.Messages) == 0 || s.MaxTokens == nil || *s.MaxTokens < 1 {
		return errors.New(`its params need "messages", one at least, and "maxTokens", 1 at least`)
	}
	for i, m := range s.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return fmt.Errorf(`message %d: the role %q: want "user" or "assistant"`, i, m.Role)
		}
		if k := m.Content.Kind(); k != '{' && k != '[' {
			return fmt.Errorf(`message %d: "content" is missing`, i)
		}
	}
	return nil
}
