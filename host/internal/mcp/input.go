package mcp

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"

	"github.com/reshost/reshost/host/internal/jsonrpc"
	"github.com/reshost/reshost/host/internal/question"
	"github.com/reshost/reshost/host/provider"
)

// askable returns what the client of this request can be asked.
func (c *call) askable() ability {
	switch {
	case c.rev.roundTrips:
		return abilities(c.meta.capabilities) & c.rev.asks
	case c.session != nil && c.req.Stream != nil:
		return c.session.can
	}
	return 0
}

// retry reads what a read brings from an earlier round (rule R4).
func (c *call) retry(p *ReadParams) error {
	for o := jsonrpc.Members(c.req.Message.Params); o.Next(); {
		switch {
		case o.Is("requestState"):
			if jsonrpc.KindOf(o.Value) != jsonrpc.Text {
				return badParams(`"requestState" must be a string`)
			}
			p.State = []byte(jsonrpc.String(o.Value))
		case o.Is("inputResponses"):
			if jsonrpc.KindOf(o.Value) != jsonrpc.Map {
				return badParams(`"inputResponses" must be an object`)
			}
			p.Inputs = []provider.InputResponse{}
			for r := jsonrpc.Members(o.Value); r.Next(); {
				if jsonrpc.KindOf(r.Value) != jsonrpc.Map {
					return badParams(`"inputResponses" must hold objects`)
				}
				if len(p.Inputs) == question.Max {
					return badParams(fmt.Sprintf(`"inputResponses" holds more than %d`, question.Max))
				}
				p.Inputs = append(p.Inputs, provider.InputResponse{Key: r.Name(), Result: slices.Clone(r.Value)})
			}
		}
	}
	return nil
}

// checkAsked refuses to ask the client for what it did not declare. Rule P4 has a code for it; older revisions have none.
func (c *call) checkAsked(in *provider.InputRequired) error {
	var missing ability
	can := c.askable()
	for i := range in.Requests {
		missing |= needed(&in.Requests[i]) &^ can
	}
	if !c.rev.roundTrips && c.req.Stream == nil {
		return provider.Errorf(provider.Unsupported, "this resource asks for more, which needs a stream: send the read by itself, with text/event-stream in Accept")
	}
	if missing == 0 {
		return nil
	}
	data := append(missing.appendTo([]byte(`{"requiredCapabilities":`)), '}')
	if !c.rev.roundTrips {
		message := "this resource asks for more, which needs capabilities that the client did not declare"
		if missing&^c.rev.asks != 0 {
			message = "this resource asks for more than a client of revision " + c.rev.name + " can be asked"
		}
		return &provider.Error{Code: provider.Unsupported, Message: message, Detail: data}
	}
	return &failure{
		wire:   jsonrpc.Error{Code: codeMissingCapability, Message: "This resource asks for more, which needs capabilities that the client did not declare", Data: data},
		status: http.StatusBadRequest,
	}
}

// appendInput writes the result of a read that asks for more (rule R4). It may not be cached, and says nothing of that.
func (c *call) appendInput(in *provider.InputRequired) []byte {
	out := append(jsonrpc.AppendResultHead(c.out, c.req.Message.ID), `{"resultType":"input_required"`...)
	if len(in.Requests) > 0 {
		out = append(out, `,"inputRequests":{`...)
		for i := range in.Requests {
			if i > 0 {
				out = append(out, ',')
			}
			q := &in.Requests[i]
			out = append(jsonrpc.AppendString(out, q.Key), `:{"method":`...)
			out = append(jsonrpc.AppendString(out, q.Method), `,"params":`...)
			out = append(c.appendParams(out, q), '}')
		}
		out = append(out, '}')
	}
	if in.State != nil {
		out = jsonrpc.AppendText(append(out, `,"requestState":`...), in.State)
	}
	return c.appendEnd(out)
}

// appendParams writes a question's parameters as the revision has them, without those that would make another thing of it: `_meta`,
// whose keys are the protocol's, and "task", which would defer the answer.
func (c *call) appendParams(out []byte, q *provider.InputRequest) []byte {
	out = append(out, '{')
	begin := len(out)
	compact, _ := jsonrpc.AppendCompact(nil, q.Params) // the backend has checked it
	for o := jsonrpc.Members(compact); o.Next(); {
		if o.Is("_meta") || o.Is("task") || o.Is(nameElicitationID) || o.Is(nameMode) && !c.rev.modes {
			continue
		}
		if len(out) > begin {
			out = append(out, ',')
		}
		out = append(append(jsonrpc.AppendString(out, o.Name()), ':'), o.Value...)
	}
	if c.rev.elicitationID && isPage(q) {
		out = append(append(out, `,"`+nameElicitationID+`":"`...), rand.Text()...) // unlike any other
		out = append(out, '"')
	}
	return append(out, '}')
}

// isPage reports whether a question sends the user to a page.
func isPage(q *provider.InputRequest) bool { return q.Method == question.Elicit && needed(q) == canURL }
