package reshost

import "github.com/reshost/reshost/abi"

// ReadFunc serves one resource: it writes at least one part to out, or fails.
type ReadFunc func(req *ReadRequest, out *Response) error

// ReadRequest asks for one resource.
type ReadRequest struct {
	Call
	Caller
	// URI is normalised, with the scheme's effective name.
	URI string
	// Template is the template that matched, as listed; empty for a direct resource.
	Template string
	// State is what [Response.InputRequired] was given in the first attempt, and Answers are the client's answers.
	State   []byte
	Answers []Answer
	// InputMethods are what this client can be asked, such as [MethodElicit].
	InputMethods []string
	// MaxBytes bounds the sum of all bodies; 0: unsaid.
	MaxBytes int64
	// IfETag is the etag of the contents that the host still holds, or empty. If it is still right return [ErrNotModified].
	IfETag string

	vars     []abi.Var
	declared []Var
	misuse   string
}

// Var returns the value of a variable, percent-decoded, or "" when the URI does not define it. The template must declare
// it: asking for another fails the read, so that a test meets the mistake.
func (r *ReadRequest) Var(name string) string {
	v, _ := r.LookupVar(name)
	return v
}

// LookupVar is Var; it also reports whether the URI defines the variable.
func (r *ReadRequest) LookupVar(name string) (string, bool) {
	for i := range r.vars {
		if r.vars[i].Name == name {
			return r.vars[i].Value, true
		}
	}
	if r.misuse == "" && r.declared != nil && !declares(r.declared, name) {
		r.misuse = name
	}
	return "", false
}

func declares(vars []Var, name string) bool {
	for i := range vars {
		if vars[i].Name == name {
			return true
		}
	}
	return false
}

// Progress tells the client how far the read is: done only grows, and total is 0 when unknown.
func (r *ReadRequest) Progress(done, total int64, message string) {
	rec := abi.Progress{Done: uint64(max(done, 0)), Message: message}
	if total > 0 {
		rec.Total = abi.Some(uint64(total))
	}
	r.in.rec = rec.Append(r.in.rec[:0])
	r.in.emit(abi.KindProgress)
}

// Response takes the contents of a resource: part by part, each body whole ([Response.Text], [Response.Bytes],
// [Response.JSON]) or in pieces ([Response.Part], then [Response.Write]).
//
// Its methods fail with [ErrStop] when the host wants no more: the limit is met, or the caller left. Return that error, or
// any other; a read that was stopped never counts as whole.
type Response struct {
	in      *Instance
	mime    string
	ttl     abi.Optional
	public  bool
	etag    string
	parts   int
	asked   bool
	stopped bool
}

// Part describes a part that Write fills.
type Part struct {
	// URI is the part's own, below the one that was asked for. Empty: that one.
	URI string
	// MIMEType is a media type. Empty: the one of the Resource or Template if the part has no URI of its own, else text/plain
	// for text and application/octet-stream for bytes.
	MIMEType string
	// Untyped sends an empty MIMEType as it is: the part has no type.
	Untyped bool
	// Text says that the whole body is valid UTF-8.
	Text bool
	// Size is a hint.
	Size Size
	// ETag is printable ASCII up to 256 bytes; the first part's counts for all. Empty: what SetETag was given.
	ETag string
	// Meta is a JSON object for `_meta`, or empty.
	Meta string
}

// SetTTL says how long the result may be reused, for the parts that follow. The operator's config bounds it.
func (w *Response) SetTTL(millis int64) { w.ttl = abi.Some(uint64(max(millis, 0))) }

// SetPublic says that every caller gets the same bytes, for the parts that follow. It counts only where the operator allows
// it, and only if all parts say it.
func (w *Response) SetPublic() { w.public = true }

// SetETag names the state of the content, for the parts that follow: printable ASCII up to 256 bytes.
func (w *Response) SetETag(etag string) { w.etag = etag }

// Text writes a part of text, valid UTF-8: text/plain unless the resource or template has a MIMEType.
func (w *Response) Text(s string) error {
	if err := w.Part(Part{Text: true, Size: Bytes(int64(len(s)))}); err != nil {
		return err
	}
	_, err := w.WriteString(s)
	return err
}

// TextBytes is Text for a text in a byte slice.
func (w *Response) TextBytes(b []byte) error { return w.body(Part{Text: true}, b) }

// Bytes writes a part of bytes: application/octet-stream unless the resource or template has a MIMEType.
func (w *Response) Bytes(b []byte) error { return w.body(Part{}, b) }

// JSON writes a part of JSON text, made with [JSON] or ready: application/json unless the resource or template has a
// MIMEType.
func (w *Response) JSON(b []byte) error {
	p := Part{Text: true, MIMEType: w.mime}
	if p.MIMEType == "" {
		p.MIMEType = mimeJSON
	}
	return w.body(p, b)
}

func (w *Response) body(p Part, b []byte) error {
	p.Size = Bytes(int64(len(b)))
	if err := w.Part(p); err != nil {
		return err
	}
	_, err := w.Write(b)
	return err
}

const (
	mimeText  = "text/plain"
	mimeBytes = "application/octet-stream"
	mimeJSON  = "application/json"
)

// Part begins a part. Its body is what Write and WriteString are given until the next part begins.
func (w *Response) Part(p Part) error {
	rec := abi.Content{
		URI: p.URI, MIMEType: p.MIMEType, Text: p.Text, MetaJSON: p.Meta, ETag: p.ETag, TTLMillis: w.ttl,
	}
	if n, ok := abi.Optional(p.Size).Get(); ok {
		rec.SizeHint = n
	}
	if rec.MIMEType == "" && !p.Untyped {
		rec.MIMEType = w.defaultType(&p)
	}
	if rec.ETag == "" {
		rec.ETag = w.etag
	}
	if w.public {
		rec.Scope = abi.ScopePublic
	}
	w.in.rec = rec.Append(w.in.rec[:0])
	if err := w.replied(w.in.emit(abi.KindContent)); err != nil {
		return err
	}
	w.parts++
	return nil
}

// defaultType is the type of a part that does not say one.
func (w *Response) defaultType(p *Part) string {
	switch {
	case p.URI == "" && w.mime != "":
		return w.mime
	case p.Text:
		return mimeText
	}
	return mimeBytes
}

// Write appends to the body of the part that began last. The host copies b before Write returns.
func (w *Response) Write(b []byte) (int, error) {
	if err := w.replied(w.in.h.write(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// WriteString is Write for a string.
func (w *Response) WriteString(s string) (int, error) { return w.Write(bytesOf(s)) }

func (w *Response) replied(r abi.Reply) error {
	switch r {
	case abi.ReplyContinue:
		return nil
	case abi.ReplyStop:
		w.stopped = true
		return ErrStop
	}
	return Internal("the host rejected a record of the read; its log says why")
}

// InputRequired asks the client for more before the read can complete. Return its result from the handler. The read comes
// again with state (at most 8 KiB, sealed by the host) and the answers, or with less than was asked, or never; no part may have begun.
func (w *Response) InputRequired(state []byte, questions ...Question) error {
	for _, q := range questions {
		rec := abi.Input{Key: q.Key, Method: q.Method, ParamsJSON: q.Params}
		w.in.rec = rec.Append(w.in.rec[:0])
		if err := w.replied(w.in.emit(abi.KindInput)); err != nil {
			return err
		}
	}
	if state != nil {
		w.in.rec = (&abi.State{Data: stringOf(state)}).Append(w.in.rec[:0])
		if err := w.replied(w.in.emit(abi.KindState)); err != nil {
			return err
		}
	}
	w.asked = true
	return errInputRequired
}
