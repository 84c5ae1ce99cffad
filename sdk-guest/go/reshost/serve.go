package reshost

import "github.com/reshost/reshost/abi"

// initialize serves rh_init.
func (in *Instance) initialize() abi.Status {
	var req abi.InitRequest
	if err := req.Decode(in.request()); err != nil {
		return in.fail(err)
	}
	if err := in.check(); err != nil {
		return in.fail(err)
	}
	if req.Pack {
		return abi.StatusOK
	}
	in.schemes = nil
	in.scheme("")
	if in.p.Init == nil {
		return abi.StatusOK
	}
	c := InitCall{Call{in: in, NowMillis: int64(req.NowMillis)}}
	if err := in.p.Init(&c); err != nil {
		return in.fail(err)
	}
	return abi.StatusOK
}

// check reports a mistake in the registration.
func (in *Instance) check() error {
	if registered.twice && registered.plugin == in.p {
		return Invalid("Register was called twice")
	}
	return in.p.Check()
}

// describe serves rh_describe.
func (in *Instance) describe() abi.Status {
	var req abi.InitRequest
	if err := req.Decode(in.request()); err != nil {
		return in.refuse(err)
	}
	if err := in.check(); err != nil {
		return in.refuse(err)
	}
	var d Description
	if in.p.Dynamic != nil && !req.Pack {
		c := Call{in: in, NowMillis: int64(req.NowMillis)}
		err := in.p.Dynamic.Describe(&c, &d)
		if err == nil {
			err = in.p.checkEntries(d.resources, d.templates, false)
		}
		if err != nil {
			return in.refuse(err)
		}
	}
	in.rec = append(in.rec[:0], in.p.manifest(&d)...)
	if in.emit(abi.KindManifest) != abi.ReplyContinue {
		return abi.StatusInternal
	}
	return abi.StatusOK
}

// refuse is fail for exports in which an ERROR record is not legal: the text goes to the log.
func (in *Instance) refuse(err error) abi.Status {
	in.h.log(LevelError, err.Error())
	if code := CodeOf(err); code != abi.StatusOK {
		return code
	}
	return abi.StatusInternal
}

// read serves rh_read.
func (in *Instance) read() abi.Status {
	var m abi.ReadRequest
	if err := m.Decode(in.request()); err != nil {
		return in.fail(err)
	}
	req := ReadRequest{
		Call: in.call(&m.Common), Caller: callerOf(&m.Common),
		URI: m.URI, Template: m.URITemplate, InputMethods: m.InputMethods, IfETag: m.IfETag, MaxBytes: int64(m.MaxBytes),
		vars: m.Vars,
	}
	if m.State != "" {
		req.State = []byte(m.State)
	}
	for _, a := range m.Answers {
		req.Answers = append(req.Answers, Answer(a))
	}
	out := Response{in: in}
	handler := in.reader(&req, &out, m.TemplateIndex)
	if handler == nil {
		return in.fail(NotFound("no handler for " + m.URI))
	}
	err := handler(&req, &out)
	switch {
	case err != nil:
		return in.fail(err)
	case req.misuse != "":
		return in.fail(Internal("the handler of " + m.URITemplate + " asked for the variable " + quote(req.misuse) +
			", which Vars does not declare"))
	case out.stopped:
		return abi.StatusTooLarge
	case out.asked:
		return abi.StatusInputRequired
	case out.parts == 0:
		return in.fail(Internal("the handler of " + m.URI + " wrote no part"))
	}
	return abi.StatusOK
}

// reader finds the handler of a read, and what the request and the response take from its registration.
func (in *Instance) reader(req *ReadRequest, out *Response, index uint64) ReadFunc {
	p := in.p
	if req.Template == "" && index == 0 {
		for i := range p.Resources {
			if in.effective(p.Resources[i].URI) == req.URI {
				out.mime = p.Resources[i].MIMEType
				return p.Resources[i].Read
			}
		}
	} else if t := in.template(index, req.Template); t != nil {
		out.mime = t.MIMEType
		req.declared = t.Vars
		if req.Template == "" {
			req.Template = in.effective(t.URITemplate)
		}
		return t.Read
	}
	if p.Dynamic != nil {
		return p.Dynamic.Read
	}
	return nil
}

// template finds a registered template by its place, or by its text when the place is unsaid.
func (in *Instance) template(index uint64, text string) *Template {
	list := in.p.Templates
	if index > 0 {
		if index > uint64(len(list)) {
			return nil
		}
		return &list[index-1]
	}
	for i := range list {
		if in.effective(list[i].URITemplate) == text {
			return &list[i]
		}
	}
	return nil
}

func (in *Instance) call(m *abi.Common) Call {
	return Call{in: in, NowMillis: int64(m.NowMillis), DeadlineMillis: int64(m.DeadlineMillis)}
}

func callerOf(m *abi.Common) Caller {
	return Caller{
		Issuer: m.Issuer, Subject: m.Subject, Tenant: m.Tenant, Scopes: m.Scopes, Claims: m.ClaimsJSON, Meta: m.MetaJSON,
	}
}

// list serves rh_list.
func (in *Instance) list() abi.Status {
	var m abi.ListRequest
	if err := m.Decode(in.request()); err != nil {
		return in.fail(err)
	}
	if in.p.List == nil {
		return in.fail(Unsupported("the plugin has no list"))
	}
	size := int(min(max(m.PageSize, 1), 1<<20))
	req := ListRequest{Call: in.call(&m.Common), Caller: callerOf(&m.Common), Cursor: m.Cursor, PageSize: size}
	out := ListResponse{in: in, left: size}
	if err := in.p.List(&req, &out); err != nil {
		return in.fail(err)
	}
	switch {
	case out.broken:
		return in.fail(Internal("the list gave a resource an empty cursor"))
	case out.full && !out.added:
		return in.fail(TooLarge("the list's next resource does not fit into a page"))
	case out.full:
		in.rec = (&abi.Cursor{Next: stringOf(out.after)}).Append(in.rec[:0])
		if in.emit(abi.KindCursor) != abi.ReplyContinue {
			return abi.StatusInternal
		}
	}
	return in.info(&out.info)
}

// info emits an INFO record unless it says nothing.
func (in *Instance) info(m *abi.Info) abi.Status {
	if *m != (abi.Info{}) {
		in.rec = m.Append(in.rec[:0])
		if in.emit(abi.KindInfo) != abi.ReplyContinue {
			return abi.StatusInternal
		}
	}
	return abi.StatusOK
}

// complete serves rh_complete.
func (in *Instance) complete() abi.Status {
	var m abi.CompleteRequest
	if err := m.Decode(in.request()); err != nil {
		return in.fail(err)
	}
	complete := in.completer(&m)
	if complete == nil {
		return in.fail(Invalid("nothing completes " + quote(m.Argument) + " of " + m.URITemplate))
	}
	req := CompleteRequest{
		Call: in.call(&m.Common), Caller: callerOf(&m.Common),
		Template: m.URITemplate, Argument: m.Argument, Value: m.Value, context: m.Context,
	}
	out := Completion{in: in}
	if err := complete(&req, &out); err != nil {
		return in.fail(err)
	}
	out.info.HasMore = out.more
	out.info.Total = out.total
	if out.total == 0 && !out.more {
		out.info.Total = abi.Some(uint64(out.count))
	}
	return in.info(&out.info)
}

// completer finds what completes the argument of a request.
func (in *Instance) completer(m *abi.CompleteRequest) CompleteFunc {
	if t := in.template(m.TemplateIndex, m.URITemplate); t != nil {
		if m.URITemplate == "" {
			m.URITemplate = in.effective(t.URITemplate)
		}
		for i := range t.Vars {
			if t.Vars[i].Name == m.Argument {
				return t.Vars[i].Complete
			}
		}
		return nil
	}
	if in.p.Dynamic != nil {
		return in.p.Dynamic.Complete
	}
	return nil
}

// poll serves rh_poll.
func (in *Instance) poll() abi.Status {
	var m abi.PollRequest
	if err := m.Decode(in.request()); err != nil {
		return in.refuse(err)
	}
	if in.p.Poll == nil {
		return abi.StatusUnsupported
	}
	req := PollRequest{
		Call:    Call{in: in, NowMillis: int64(m.NowMillis), DeadlineMillis: int64(m.DeadlineMillis)},
		Watched: m.Watched, Changed: m.Changed,
	}
	if m.State != "" {
		req.State = []byte(m.State)
	}
	if m.Body != "" {
		req.Body = []byte(m.Body)
	}
	for _, h := range m.Headers {
		req.Headers = append(req.Headers, Header(h))
	}
	out := PollResponse{in: in}
	err := in.p.Poll(&req, &out)
	if err == nil {
		err = out.err
	}
	if err != nil {
		return in.refuse(err)
	}
	return in.info(&out.info)
}
