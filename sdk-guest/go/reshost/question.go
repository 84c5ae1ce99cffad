package reshost

// Methods of a [Question]. [Form] and [Page] write those of the first kind.
const (
	MethodElicit = "elicitation/create"
	MethodSample = "sampling/createMessage"
	MethodRoots  = "roots/list"
)

// Question asks the client for something.
type Question struct {
	// Key is unique among the questions; the answer comes back under it.
	Key string
	// Method is one of those above. A client that [ReadRequest.CanAsk] says cannot be asked so is told what it lacks: look first
	// only where there is another way.
	Method string
	// Params is the method's parameters as MCP 2026-07-28 has them, a JSON object. A form is flat and never asks for a secret;
	// the page of mode "url" is https. The host refuses others, and its log says why.
	Params string
}

// Field is one entry of a [Form].
type Field struct {
	// Name is what the answer calls it. A form never asks for a secret: the client and its model see what is filled in.
	Name string
	// Title and Description are for people.
	Title, Description string
	// Type is what the answer is. Empty: TypeString.
	Type FieldType
	// Options are the strings to choose from; nil for any. A field of another type has none.
	Options []string
	// Optional says that the form may be sent without it.
	Optional bool
}

// FieldType is the type of a [Field].
type FieldType string

// Types of fields.
const (
	TypeString  FieldType = "string"
	TypeInteger FieldType = "integer"
	TypeNumber  FieldType = "number"
	TypeBoolean FieldType = "boolean"
	// TypeSeveral is any number of Options.
	TypeSeveral FieldType = "array"
)

// Form is the question for a form that the client's user fills in. [ReadRequest.Elicited] reads the answer.
func Form(key, message string, fields ...Field) Question {
	var j JSON
	j.BeginObject()
	j.Key("mode").String("form")
	j.Key("message").String(message)
	j.Key("requestedSchema").BeginObject()
	j.Key("type").String("object")
	j.Key("properties").BeginObject()
	for i := range fields {
		j.Key(fields[i].Name)
		fields[i].write(&j)
	}
	j.EndObject()
	j.Key("required").BeginArray()
	for i := range fields {
		if !fields[i].Optional {
			j.String(fields[i].Name)
		}
	}
	j.EndArray().EndObject().EndObject()
	return Question{Key: key, Method: MethodElicit, Params: string(j.Bytes())}
}

func (f *Field) write(j *JSON) {
	kind := f.Type
	if kind == "" {
		kind = TypeString
	}
	j.BeginObject()
	j.Key("type").String(string(kind))
	if f.Title != "" {
		j.Key("title").String(f.Title)
	}
	if f.Description != "" {
		j.Key("description").String(f.Description)
	}
	if kind == TypeSeveral {
		j.Key("items").BeginObject()
		j.Key("type").String(string(TypeString))
	}
	if f.Options != nil {
		j.Key("enum").BeginArray()
		for _, o := range f.Options {
			j.String(o)
		}
		j.EndArray()
	}
	if kind == TypeSeveral {
		j.EndObject()
	}
	j.EndObject()
}

// Page is the question to visit a page, for what must not pass through the client: it learns only whether its user agreed to go.
// What happened there the plugin finds out by itself.
func Page(key, message, url string) Question {
	var j JSON
	j.BeginObject()
	j.Key("mode").String("url")
	j.Key("message").String(message)
	j.Key("url").String(url)
	j.EndObject()
	return Question{Key: key, Method: MethodElicit, Params: string(j.Bytes())}
}

// Answer is the client's answer to the [Question] of the same Key.
type Answer struct {
	Key string
	// JSON is the client's result, a JSON object. Decline and cancel arrive here too.
	JSON string
}

// Answer returns the client's answer under key, and whether there is one.
func (r *ReadRequest) Answer(key string) (json string, ok bool) {
	for i := range r.Answers {
		if r.Answers[i].Key == key {
			return r.Answers[i].JSON, true
		}
	}
	return "", false
}

// CanAsk reports whether the client can be asked by method, such as [MethodElicit].
func (r *ReadRequest) CanAsk(method string) bool {
	for _, m := range r.InputMethods {
		if m == method {
			return true
		}
	}
	return false
}

// Elicited is the answer to a [Form] or a [Page]. It is the client's word: nothing of it was checked against the question.
type Elicited struct {
	// Accepted says that the user filled in the form, or agreed to visit the page; Declined that they refused to. Where neither
	// is set they closed the question without deciding: it may be put again another time.
	Accepted, Declined bool
	// content is a JSON object, or empty.
	content string
}

// Elicited returns the answer to the [Form] or [Page] of that key, and whether there is one.
func (r *ReadRequest) Elicited(key string) (e Elicited, ok bool) {
	json, ok := r.Answer(key)
	if !ok {
		return e, false
	}
	if v, found := member(json, "action"); found {
		action, _ := unquote(v)
		e.Accepted, e.Declined = action == "accept", action == "decline"
	}
	if e.Accepted {
		e.content, _ = member(json, "content")
	}
	return e, true
}

// String returns the text of a field, and whether the answer has it as a string.
func (e *Elicited) String(name string) (string, bool) {
	v, _ := member(e.content, name)
	return unquote(v)
}

// Int returns the whole number of a field, and whether the answer has it as one within 64 bits.
func (e *Elicited) Int(name string) (int64, bool) {
	v, _ := member(e.content, name)
	return parseInt(v)
}

// Bool returns the value of a field, and whether the answer has it as true or false.
func (e *Elicited) Bool(name string) (value, ok bool) {
	v, _ := member(e.content, name)
	return v == "true", v == "true" || v == "false"
}

// Strings returns the choices in a field of [TypeSeveral], and whether the answer has it as strings.
func (e *Elicited) Strings(name string) ([]string, bool) {
	v, _ := member(e.content, name)
	return unquoteAll(v)
}

// Raw returns the JSON text of a field, such as a fraction, and whether the answer has it.
func (e *Elicited) Raw(name string) (json string, ok bool) { return member(e.content, name) }
