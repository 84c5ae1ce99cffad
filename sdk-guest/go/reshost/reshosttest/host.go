package reshosttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/sdk-guest/go/reshost"
)

// host is the stand-in for a host: it keeps the records of one call.
type host struct {
	opts   *Options
	config any
	files  files
	http   exchanges
	kv     store
	caller reshost.Caller

	export   string
	request  []byte
	res      *result
	ifETag   string
	maxBytes int64
	pageSize int
	body     int64
	fault    error
}

// result is what one call emitted.
type result struct {
	status    abi.Status
	ifETag    string
	changes   Changes
	parts     []Part
	resources []ListedResource
	values    []string
	next      string
	info      abi.Info
	inputs    []reshost.Question
	state     []byte
	progress  []string
	failure   *abi.Error
	manifest  []byte
	rejected  []string
}

func newHost(opts *Options) (*host, error) {
	h := &host{opts: opts, files: files{roots: opts.Roots}, http: exchanges{handler: opts.HTTP}}
	if opts.Config != "" {
		d := json.NewDecoder(strings.NewReader(opts.Config))
		d.UseNumber()
		var object map[string]any
		if err := d.Decode(&object); err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
		h.config = object
	}
	return h, nil
}

func (h *host) begin(export string, request []byte) *result {
	h.export, h.request, h.body, h.fault = export, request, 0, nil
	h.res = &result{ifETag: h.ifETag}
	return h.res
}

// end closes what the call left open, and reports a fault against the ABI.
func (h *host) end() error {
	h.files.end()
	h.http.end()
	h.caller = reshost.Caller{}
	h.ifETag = ""
	return h.fault
}

// Req copies the request if it fits.
func (h *host) Req(buf []byte) int {
	if len(buf) >= len(h.request) {
		copy(buf, h.request)
	}
	return len(h.request)
}

// Emit takes a record, or says why not.
func (h *host) Emit(kind abi.Kind, rec []byte) abi.Reply {
	reject := func(why string) abi.Reply {
		h.res.rejected = append(h.res.rejected, kind.String()+" record: "+why)
		return abi.ReplyRejected
	}
	limit := abi.MaxRecord
	if kind == abi.KindManifest {
		limit = abi.MaxManifest
	}
	switch {
	case !kind.Legal(h.export):
		return reject("not legal in " + h.export)
	case len(rec) > limit:
		return reject(fmt.Sprintf("%d bytes, more than %d", len(rec), limit))
	}
	reply, err := h.take(kind, string(rec))
	if err != nil {
		return reject(err.Error())
	}
	return reply
}

func (h *host) take(kind abi.Kind, rec string) (abi.Reply, error) {
	switch kind {
	case abi.KindContent:
		return h.takeContent(rec)
	case abi.KindResource:
		return h.takeResource(rec)
	case abi.KindManifest:
		h.res.manifest = []byte(rec)
		return 0, nil
	case abi.KindListChanged:
		h.res.changes.ListChanged++
		return 0, nil
	case abi.KindCursor:
		var m abi.Cursor
		err := m.Decode(rec)
		h.res.next = m.Next
		return 0, err
	case abi.KindValue:
		var m abi.Value
		err := m.Decode(rec)
		h.res.values = append(h.res.values, m.Value)
		return 0, err
	case abi.KindUpdated:
		var m abi.Updated
		err := m.Decode(rec)
		h.res.changes.Updated = append(h.res.changes.Updated, m.URI)
		return 0, err
	case abi.KindInfo:
		return 0, h.res.info.Decode(rec)
	case abi.KindState:
		var m abi.State
		err := m.Decode(rec)
		h.res.state = []byte(m.Data)
		if len(m.Data) > abi.MaxState {
			err = fmt.Errorf("%d bytes, more than %d", len(m.Data), abi.MaxState)
		}
		return 0, err
	}
	return h.takeRest(kind, rec)
}

func (h *host) takeRest(kind abi.Kind, rec string) (abi.Reply, error) {
	switch kind {
	case abi.KindInput:
		var m abi.Input
		err := m.Decode(rec)
		h.res.inputs = append(h.res.inputs, reshost.Question{Key: m.Key, Method: m.Method, Params: m.ParamsJSON})
		return 0, errors.Join(err, object("params", m.ParamsJSON))
	case abi.KindError:
		h.res.failure = new(abi.Error)
		err := h.res.failure.Decode(rec)
		return 0, errors.Join(err, object("detail", h.res.failure.DetailJSON))
	case abi.KindProgress:
		var m abi.Progress
		err := m.Decode(rec)
		line := fmt.Sprint(m.Done)
		if n, ok := m.Total.Get(); ok {
			line += fmt.Sprint("/", n)
		}
		h.res.progress = append(h.res.progress, strings.TrimSpace(line+" "+m.Message))
		return 0, err
	}
	return abi.ReplyUnknown, nil
}

func (h *host) takeContent(rec string) (abi.Reply, error) {
	var m abi.Content
	if err := m.Decode(rec); err != nil {
		return 0, err
	}
	if err := errors.Join(mediaType(m.MIMEType), object("meta", m.MetaJSON), etag(m.ETag)); err != nil {
		return 0, err
	}
	p := Part{
		URI: m.URI, MIMEType: m.MIMEType, Text: m.Text, Body: []byte{}, Meta: m.MetaJSON, ETag: m.ETag, SizeHint: int64(m.SizeHint),
	}
	p.TTLMillis, p.Public = cacheOf(m.TTLMillis, m.Scope)
	h.res.parts = append(h.res.parts, p)
	return 0, nil
}

func (h *host) takeResource(rec string) (abi.Reply, error) {
	var m abi.Resource
	if err := m.Decode(rec); err != nil {
		return 0, err
	}
	if len(h.res.resources) >= h.pageSize {
		return abi.ReplyStop, nil
	}
	err := errors.Join(mediaType(m.MIMEType), object("annotations", m.AnnotationsJSON), object("meta", m.MetaJSON))
	if m.URI == "" || m.Name == "" {
		err = errors.Join(err, errors.New("uri and name are required"))
	}
	if err != nil {
		return 0, err
	}
	r := ListedResource{
		URI: m.URI, Name: m.Name, Title: m.Title, Description: m.Description, MIMEType: m.MIMEType, Size: -1,
		Annotations: m.AnnotationsJSON, Icons: m.IconsJSON, Meta: m.MetaJSON,
	}
	if n, ok := m.Size.Get(); ok {
		r.Size = int64(n)
	}
	h.res.resources = append(h.res.resources, r)
	return 0, nil
}

// Write appends to the last part.
func (h *host) Write(b []byte) abi.Reply {
	if len(h.res.parts) == 0 {
		h.res.rejected = append(h.res.rejected, "write before a CONTENT record")
		return abi.ReplyRejected
	}
	if h.body += int64(len(b)); h.body > h.maxBytes {
		return abi.ReplyStop
	}
	p := &h.res.parts[len(h.res.parts)-1]
	p.Body = append(p.Body, b...)
	return abi.ReplyContinue
}

// Log passes a line on.
func (h *host) Log(level abi.Level, message string) { h.opts.Logf("log %d: %s", level, message) }

// check reports what a host would say about a part as a whole.
func (p *Part) check() error {
	if p.Text && !utf8.Valid(p.Body) {
		return errors.New("text that is not UTF-8")
	}
	return nil
}

func mediaType(s string) error {
	if s == "" {
		return nil
	}
	if _, _, err := mime.ParseMediaType(s); err != nil || !strings.Contains(s, "/") {
		return fmt.Errorf("%q is not a media type", s)
	}
	return nil
}

func etag(s string) error {
	if len(s) > abi.MaxETag {
		return fmt.Errorf("etag of %d bytes", len(s))
	}
	for _, c := range []byte(s) {
		if c < 0x20 || c > 0x7E {
			return fmt.Errorf("etag %q is not printable ASCII", s)
		}
	}
	return nil
}

// object reports a field that is neither empty nor a JSON object.
func object(field, s string) error {
	if s == "" {
		return nil
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(s), &m); err != nil || m == nil {
		return fmt.Errorf("%s: %.60q is not a JSON object", field, s)
	}
	return nil
}
