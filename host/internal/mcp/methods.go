package mcp

import (
	"context"

	"github.com/reshost/reshost/host/internal/jsonrpc"
	"github.com/reshost/reshost/host/provider"
)

// handler returns what answers a method in this revision; nil for an unknown one (rule P7).
func (c *call) handler(method string) func(*call, context.Context) error {
	switch method {
	case methodRead:
		return (*call).read
	case methodListResources:
		return (*call).listResources
	case methodListTemplates:
		return (*call).listTemplates
	case methodComplete:
		return (*call).complete
	}
	if c.rev.modern {
		switch method {
		case methodDiscover:
			return (*call).discover
		case methodListen:
			return (*call).listen
		}
		return nil
	}
	switch method {
	case methodInitialize:
		return (*call).initialize
	case methodPing:
		return (*call).ping
	case methodSubscribe:
		return (*call).subscribe
	case methodUnsubscribe:
		return (*call).unsubscribe
	case methodSetLevel:
		if c.server.backend.Features(context.Background(), &c.caller).Logging {
			return (*call).setLevel
		}
	}
	return nil
}

// discover answers server/discover (rules D1, D2).
func (c *call) discover(ctx context.Context) error {
	f := c.server.backend.Features(ctx, &c.caller)
	c.out = c.appendHead()
	c.out = append(append(c.out, `,"supportedVersions":`...), c.server.supported...)
	c.out = c.appendCapabilities(append(c.out, `,"capabilities":`...), &f)
	if c.server.opts.Instructions != "" {
		c.out = jsonrpc.AppendString(append(c.out, `,"instructions":`...), c.server.opts.Instructions)
	}
	// What is served changes when a provider comes or goes, and nothing tells a client so: it must not keep this.
	c.out = c.appendTail(CacheHint{})
	return nil
}

// cursor returns the cursor of a list request; nil for the first page.
func (c *call) cursor() (*string, error) {
	for o := jsonrpc.Members(c.req.Message.Params); o.Next(); {
		if !o.Is("cursor") {
			continue
		}
		if jsonrpc.KindOf(o.Value) != jsonrpc.Text {
			return nil, badParams(`"cursor" must be a string`)
		}
		s := jsonrpc.String(o.Value)
		return &s, nil
	}
	return nil, nil
}

// listResources answers resources/list (rules L1 to L4).
func (c *call) listResources(ctx context.Context) error {
	cursor, err := c.cursor()
	if err != nil {
		return err
	}
	page, err := c.server.backend.ListResources(ctx, &c.caller, cursor)
	if err != nil {
		return err
	}
	c.out = append(c.appendHead(), c.sep(`"resources":[`)...)
	for i := range page.Resources {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.out = c.appendResource(c.out, &page.Resources[i])
	}
	c.out = appendNext(append(c.out, ']'), page.Next)
	c.out = c.appendTail(page.Cache)
	return nil
}

// listTemplates answers resources/templates/list (rules L1 to L4).
func (c *call) listTemplates(ctx context.Context) error {
	cursor, err := c.cursor()
	if err != nil {
		return err
	}
	page, err := c.server.backend.ListTemplates(ctx, &c.caller, cursor)
	if err != nil {
		return err
	}
	c.out = append(c.appendHead(), c.sep(`"resourceTemplates":[`)...)
	for i := range page.Templates {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.out = c.appendTemplate(c.out, &page.Templates[i])
	}
	c.out = appendNext(append(c.out, ']'), page.Next)
	c.out = c.appendTail(page.Cache)
	return nil
}

// findURI reads the parameter "uri".
func (c *call) findURI() error {
	found := false
	for o := jsonrpc.Members(c.req.Message.Params); o.Next(); {
		if o.Is("uri") {
			if jsonrpc.KindOf(o.Value) != jsonrpc.Text {
				return badParams(`"uri" must be a string`)
			}
			c.uri, found = jsonrpc.String(o.Value), true
		}
	}
	if !found {
		return badParams(`"uri" is missing`)
	}
	return nil
}

// read answers resources/read (rules R1, R2, R4).
func (c *call) read(ctx context.Context) error {
	if err := c.findURI(); err != nil {
		return err
	}
	params := ReadParams{URI: c.uri, InputMethods: c.askable().methods()}
	if c.rev.roundTrips {
		if err := c.retry(&params); err != nil {
			return err
		}
	}
	c.notify(&params)
	res, err := c.rounds(ctx, &params)
	if err != nil {
		return err
	}
	if c.notes != nil {
		c.notes.close()
	}
	if res.Input != nil {
		c.out = c.appendInput(res.Input)
		return nil
	}
	if len(res.Contents) == 0 && len(res.Kept.Body) == 0 {
		// An empty list would say that the resource exists and has no content (rule R2).
		return provider.Errorf(provider.Internal, "no contents")
	}
	out, err := c.appendRead(res)
	if err != nil {
		return err
	}
	c.out = out
	return nil
}

// complete answers completion/complete (rule C1).
func (c *call) complete(ctx context.Context) error {
	p, prompt, err := c.completeParams()
	if err != nil {
		return err
	}
	res := &Completion{}
	// There are no prompts here, and a client that asks for one's arguments is answered that there is nothing to propose: the
	// protocol's own suite asks so.
	if !prompt {
		if res, err = c.server.backend.Complete(ctx, &c.caller, p); err != nil {
			return err
		}
	}
	c.out = c.appendCompletion(res)
	return nil
}

func (c *call) completeParams() (p *CompleteParams, prompt bool, err error) {
	p = &CompleteParams{}
	var ref, argument []byte
	for o := jsonrpc.Members(c.req.Message.Params); o.Next(); {
		switch {
		case o.Is("ref"):
			ref = o.Value
		case o.Is("argument"):
			argument = o.Value
		case o.Is("context") && c.rev.context:
			if p.Context, err = contextVars(o.Value); err != nil {
				return nil, false, err
			}
		}
	}
	prompt, p.Template, err = reference(ref)
	if err != nil {
		return nil, false, err
	}
	var name, value bool
	for o := jsonrpc.Members(argument); o.Next(); {
		switch text := jsonrpc.KindOf(o.Value) == jsonrpc.Text; {
		case o.Is("name"):
			p.Argument, name = jsonrpc.String(o.Value), text
		case o.Is("value"):
			p.Value, value = jsonrpc.String(o.Value), text
		}
	}
	if !name || !value {
		return nil, false, badParams(`"argument" must have "name" and "value", both strings`)
	}
	return p, prompt, nil
}

// reference reads what a completion refers to: a prompt, or the template that it returns.
func reference(ref []byte) (prompt bool, template string, err error) {
	var kind, uri, name []byte
	for o := jsonrpc.Members(ref); o.Next(); {
		switch {
		case o.Is("type"):
			kind = o.Value
		case o.Is("uri"):
			uri = o.Value
		case o.Is("name"):
			name = o.Value
		}
	}
	switch jsonrpc.String(kind) {
	case "ref/resource":
		if jsonrpc.KindOf(uri) != jsonrpc.Text {
			return false, "", badParams(`"ref" must have "uri", a string`)
		}
		return false, jsonrpc.String(uri), nil
	case "ref/prompt":
		if jsonrpc.KindOf(name) != jsonrpc.Text {
			return false, "", badParams(`"ref" must have "name", a string`)
		}
		return true, "", nil
	}
	return false, "", badParams(`"ref" must have "type", one of "ref/resource" and "ref/prompt"`)
}

// contextVars reads context.arguments.
func contextVars(v []byte) ([]provider.Var, error) {
	if jsonrpc.KindOf(v) != jsonrpc.Map {
		return nil, badParams(`"context" must be an object`)
	}
	var vars []provider.Var
	for o := jsonrpc.Members(v); o.Next(); {
		if !o.Is("arguments") {
			continue
		}
		if jsonrpc.KindOf(o.Value) != jsonrpc.Map {
			return nil, badParams(`"context.arguments" must be an object`)
		}
		for a := jsonrpc.Members(o.Value); a.Next(); {
			if jsonrpc.KindOf(a.Value) != jsonrpc.Text {
				return nil, badParams(`"context.arguments" must hold strings`)
			}
			vars = append(vars, provider.Var{Name: a.Name(), Value: jsonrpc.String(a.Value)})
		}
	}
	return vars, nil
}
