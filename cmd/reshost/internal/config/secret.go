package config

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxSecretFile bounds a file named by ${file:path}.
const maxSecretFile = 64 << 10

// mask stands in place of secret text wherever a configuration is printed.
const mask = "********"

// The references that a secret may hold. "$${" stands for the text "${".
const (
	refEnv    = "env"
	refFile   = "file"
	refSecret = "secret"
)

// Secret is text that may hold references: ${env:NAME}, ${file:path} and, outside `secrets`, ${secret:NAME}. It prints as
// a mask; only [Secret.Reveal] gives the value.
type Secret struct {
	parts []secretPart
	value string
	// references are the values of the parts that are references.
	references []string
	// failed says that a reference could not be resolved, which is reported where it stands.
	failed bool
}

// errFollows is the failure of a secret that failed elsewhere: one mistake is reported once.
const errFollows = constError("the secret could not be resolved")

// secretPart is literal text (kind "") or a reference.
type secretPart struct{ kind, text string }

// Reveal returns the value, references resolved.
func (s Secret) Reveal() string { return s.value }

// References returns the values of the references alone, without the text around them.
func (s Secret) References() []string { return s.references }

// String returns the references as they were written, and a mask in place of literal text.
func (s Secret) String() string {
	var b strings.Builder
	for _, p := range s.parts {
		switch {
		case p.kind != "":
			b.WriteString("${" + p.kind + ":" + p.text + "}")
		case isAuthScheme(p.text) && len(s.parts) > 1:
			b.WriteString(p.text)
		default:
			b.WriteString(mask)
		}
	}
	return b.String()
}

// GoString keeps %#v from printing the value.
func (s Secret) GoString() string { return "config.Secret(" + s.String() + ")" }

// isAuthScheme reports whether text is like "Bearer ": the name of an authentication scheme, which is no secret.
func isAuthScheme(text string) bool {
	name, ok := strings.CutSuffix(text, " ")
	switch strings.ToLower(name) {
	case "bearer", "basic", "token":
		return ok
	}
	return false
}

// parseSecret splits text into its parts, without resolving them.
func parseSecret(text string) (Secret, error) {
	var s Secret
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			s.parts = append(s.parts, secretPart{text: literal.String()})
			literal.Reset()
		}
	}
	for text != "" {
		i := strings.Index(text, "${")
		if i < 0 {
			literal.WriteString(text)
			break
		}
		if i > 0 && text[i-1] == '$' {
			literal.WriteString(text[:i-1] + "${")
			text = text[i+2:]
			continue
		}
		literal.WriteString(text[:i])
		end := strings.IndexByte(text[i:], '}')
		if end < 0 {
			return Secret{}, fmt.Errorf("a ${ without its }; write $${ for the text ${ itself")
		}
		kind, name, ok := strings.Cut(text[i+2:i+end], ":")
		if !ok || name == "" || (kind != refEnv && kind != refFile && kind != refSecret) {
			return Secret{}, fmt.Errorf("a reference must be ${env:NAME}, ${file:path} or ${secret:NAME}; write $${ for the text ${ itself")
		}
		flush()
		s.parts = append(s.parts, secretPart{kind: kind, text: name})
		text = text[i+end+1:]
	}
	flush()
	return s, nil
}

// reference returns the first reference in text that stands where none may, such as "${env:HOME}", or "".
func reference(text string) string {
	for _, kind := range [...]string{refEnv, refFile, refSecret} {
		if i := strings.Index(text, "${"+kind+":"); i >= 0 {
			ref := text[i:]
			if end := strings.IndexByte(ref, '}'); end >= 0 {
				ref = ref[:end+1]
			}
			return clip(ref)
		}
	}
	return ""
}

// resolver turns references into values.
type resolver struct {
	env     Environment
	dir     string
	secrets map[string]*Secret
}

func (r *resolver) resolve(s *Secret) error {
	var b strings.Builder
	for _, p := range s.parts {
		text, err := r.part(p)
		if err != nil {
			s.failed = true
			return err
		}
		b.WriteString(text)
		if p.kind != "" {
			s.references = append(s.references, text)
		}
	}
	s.value = b.String()
	return nil
}

func (r *resolver) part(p secretPart) (string, error) {
	switch p.kind {
	case refEnv:
		v, ok := r.env.Getenv(p.text)
		if !ok {
			return "", fmt.Errorf("the environment variable %s is not set: set it, or take the secret from a file with ${file:path}", clip(p.text))
		}
		return v, nil
	case refFile:
		return r.file(p.text)
	case refSecret:
		if r.secrets == nil {
			return "", fmt.Errorf("a secret cannot be defined by another: use ${env:NAME} or ${file:path}")
		}
		v, ok := r.secrets[p.text]
		if !ok {
			return "", fmt.Errorf("no secret is named %q: add it under secrets", clip(p.text))
		}
		if v.failed {
			return "", errFollows
		}
		return v.value, nil
	}
	return p.text, nil
}

// file reads a secret's file and drops one newline at its end, which editors add.
func (r *resolver) file(name string) (string, error) {
	path, err := parsePath(name, r.dir)
	if err != nil {
		return "", err
	}
	data, err := r.env.ReadFile(string(path), maxSecretFile)
	if err != nil {
		return "", err
	}
	if line, ok := bytes.CutSuffix(data, []byte("\n")); ok {
		data = bytes.TrimSuffix(line, []byte("\r"))
	}
	if !utf8.Valid(data) {
		return "", fmt.Errorf("%s is not UTF-8 text", path)
	}
	if len(data) == 0 {
		return "", fmt.Errorf("%s is empty", path)
	}
	return string(data), nil
}
