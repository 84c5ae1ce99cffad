package mcp

import (
	"github.com/reshost/reshost/host/internal/jsonrpc"
	"github.com/reshost/reshost/host/internal/question"
	"github.com/reshost/reshost/host/provider"
)

// ability is what a client can be asked for, a set of bits: the part of its capabilities that concerns a read.
type ability uint8

const (
	// canForm and canURL are the modes of elicitation.
	canForm ability = 1 << iota
	canURL
	canSample
	// canSampleTools is sampling in which the model may call tools.
	canSampleTools
	canListRoots
)

// Names of a ClientCapabilities object, which are those of a question's parameters too where they meet.
const (
	nameElicitation = "elicitation"
	nameForm        = "form"
	nameURL         = "url"
	nameSampling    = "sampling"
	nameTools       = "tools"
	nameRoots       = "roots"

	nameMode          = "mode"
	nameElicitationID = "elicitationId"
)

// abilities reads a ClientCapabilities object. What is no object was not declared.
func abilities(capabilities []byte) (a ability) {
	for o := jsonrpc.Members(capabilities); o.Next(); {
		switch isMap := jsonrpc.KindOf(o.Value) == jsonrpc.Map; {
		case !isMap:
		case o.Is(nameElicitation):
			a |= elicitationModes(o.Value)
		case o.Is(nameSampling):
			a |= canSample
			if has(o.Value, nameTools) {
				a |= canSampleTools
			}
		case o.Is(nameRoots):
			a |= canListRoots
		}
	}
	return a
}

// elicitationModes reads the elicitation capability. One that names no mode means forms: it is older than modes are.
func elicitationModes(v []byte) (a ability) {
	if has(v, nameForm) {
		a |= canForm
	}
	if has(v, nameURL) {
		a |= canURL
	}
	if a == 0 {
		return canForm
	}
	return a
}

// has reports whether an object has a member that is an object.
func has(v []byte, name string) bool {
	for o := jsonrpc.Members(v); o.Next(); {
		if o.Is(name) {
			return jsonrpc.KindOf(o.Value) == jsonrpc.Map
		}
	}
	return false
}

// methods returns the methods by which the client can be asked; nil for none.
func (a ability) methods() (list []string) {
	if a&(canForm|canURL) != 0 {
		list = append(list, question.Elicit)
	}
	if a&canSample != 0 {
		list = append(list, question.Sample)
	}
	if a&canListRoots != 0 {
		list = append(list, question.Roots)
	}
	return list
}

// needed returns what a client must be able to do to answer q, whose parameters are strict JSON.
func needed(q *provider.InputRequest) ability {
	switch q.Method {
	case question.Elicit:
		for o := jsonrpc.Members(q.Params); o.Next(); {
			if o.Is(nameMode) && jsonrpc.String(o.Value) == nameURL {
				return canURL
			}
		}
		return canForm
	case question.Sample:
		a := canSample
		for o := jsonrpc.Members(q.Params); o.Next(); {
			if o.Is(nameTools) || o.Is("toolChoice") {
				a |= canSampleTools
			}
		}
		return a
	}
	return canListRoots
}

// appendTo writes a as a ClientCapabilities object.
func (a ability) appendTo(out []byte) []byte {
	out = append(out, '{')
	begin := len(out)
	for _, c := range []struct {
		name  string
		bits  ability // any of which asks for the capability
		parts [2]string
		part  [2]ability
	}{
		{nameElicitation, canForm | canURL, [2]string{nameForm, nameURL}, [2]ability{canForm, canURL}},
		{nameSampling, canSample | canSampleTools, [2]string{nameTools}, [2]ability{canSampleTools}},
		{nameRoots, canListRoots, [2]string{}, [2]ability{}},
	} {
		if a&c.bits == 0 {
			continue
		}
		if len(out) > begin {
			out = append(out, ',')
		}
		out = append(jsonrpc.AppendString(out, c.name), `:{`...)
		first := len(out)
		for i, bit := range c.part {
			if a&bit == 0 {
				continue
			}
			if len(out) > first {
				out = append(out, ',')
			}
			out = append(jsonrpc.AppendString(out, c.parts[i]), `:{}`...)
		}
		out = append(out, '}')
	}
	return append(out, '}')
}
