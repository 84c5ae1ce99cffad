package mcp

import (
	"net/http"

	"github.com/reshost/reshost/host/internal/jsonrpc"
)

// requestMeta is what a request's _meta says; each value is JSON, nil when absent.
type requestMeta struct {
	raw                                                   []byte
	version, capabilities, clientInfo, logLevel, progress []byte
}

// readMeta finds the members of params._meta that have a meaning.
func readMeta(params []byte) (m requestMeta) {
	for o := jsonrpc.Members(params); o.Next(); {
		if o.Is("_meta") {
			m.raw = o.Value
			break
		}
	}
	for o := jsonrpc.Members(m.raw); o.Next(); {
		switch {
		case o.Is(metaVersion):
			m.version = o.Value
		case o.Is(metaCapabilities):
			m.capabilities = o.Value
		case o.Is(metaClientInfo):
			m.clientInfo = o.Value
		case o.Is(metaLogLevel):
			m.logLevel = o.Value
		case o.Is(metaToken):
			m.progress = o.Value
		}
	}
	return m
}

// open decides by which revision the request is read, and whether it is well-formed in it. The order of the tests
// matters: the first that applies decides, so that a gateway which reads headers and this server, which reads the body,
// cannot see two different requests.
func (c *call) open() error {
	c.meta = readMeta(c.req.Message.Params)
	if c.meta.raw != nil && jsonrpc.KindOf(c.meta.raw) != jsonrpc.Map {
		return malformed(`"_meta" must be an object`)
	}
	if c.meta.version != nil {
		return c.openModern()
	}
	if h := c.req.Header; h != nil {
		for _, v := range h.ProtocolVersion {
			if !isDate(v) {
				return c.server.unsupported("Unsupported protocol version", v)
			}
			if v >= firstModern {
				return malformed(`"` + metaVersion + `" is missing in "_meta"`)
			}
		}
	}
	return c.openLegacy()
}

// openModern checks a request that names its version (rules P1, P3, H2).
func (c *call) openModern() error {
	if jsonrpc.KindOf(c.meta.version) != jsonrpc.Text {
		return malformed(`"` + metaVersion + `" must be a string`)
	}
	name := jsonrpc.String(c.meta.version)
	if h := c.req.Header; h != nil && !lineIs(h.ProtocolVersion, name) {
		return headerMismatch(HeaderVersion)
	}
	c.rev = c.server.revision(name)
	if c.rev == nil {
		return c.server.unsupported("Unsupported protocol version", name)
	}
	if !c.rev.modern {
		return c.server.unsupported("Unsupported protocol version: "+name+" needs initialize", name)
	}
	if c.req.Header != nil {
		if err := c.checkHeader(); err != nil {
			return err
		}
	}
	return c.meta.check()
}

// check refuses a _meta without what a modern request must carry, or with known members of another type.
func (m *requestMeta) check() error {
	if m.capabilities == nil {
		return malformed(`"` + metaCapabilities + `" is missing in "_meta"`)
	}
	if jsonrpc.KindOf(m.capabilities) != jsonrpc.Map {
		return malformed(`"` + metaCapabilities + `" must be an object`)
	}
	if m.clientInfo != nil && jsonrpc.KindOf(m.clientInfo) != jsonrpc.Map {
		return malformed(`"` + metaClientInfo + `" must be an object`)
	}
	if k := jsonrpc.KindOf(m.progress); m.progress != nil && k != jsonrpc.Text && k != jsonrpc.Number {
		return malformed(`"` + metaToken + `" must be a string or a number`)
	}
	if len(m.progress) > jsonrpc.MaxID {
		return malformed(`"` + metaToken + `" is too long`)
	}
	if m.logLevel != nil && severity(jsonrpc.String(m.logLevel)) < 0 {
		return malformed(`"` + metaLogLevel + `" is not a level`)
	}
	return nil
}

// openLegacy opens a request that carries no version of its own: initialize, or one of a session (rules E1, E3).
func (c *call) openLegacy() error {
	s, err := c.findSession()
	if err != nil {
		return err
	}
	if s != nil {
		c.session, c.rev = s, s.rev
		if m := c.meta.progress; m != nil && jsonrpc.KindOf(m) != jsonrpc.Text && jsonrpc.KindOf(m) != jsonrpc.Number || len(m) > jsonrpc.MaxID {
			return malformed(`"` + metaToken + `" must be a short string or a number`)
		}
		return nil
	}
	if c.req.Message.Method == methodInitialize {
		if c.rev = c.server.newestLegacy(); c.rev != nil {
			return nil
		}
		requested := ""
		for o := jsonrpc.Members(c.req.Message.Params); o.Next(); {
			if o.Is("protocolVersion") {
				requested = jsonrpc.String(o.Value)
			}
		}
		return c.server.unsupported("Unsupported protocol version: this server needs no initialize and speaks "+c.server.names, requested)
	}
	f := malformed(`"` + metaVersion + `" is missing in "_meta"; supported: ` + c.server.names)
	f.wire.Data = append(append([]byte(`{"supported":`), c.server.supported...), '}')
	return f
}

// unsupported is the answer to a version that is not served (rule P3).
func (s *Server) unsupported(message, requested string) *failure {
	const most = 64
	if len(requested) > most {
		requested = requested[:most]
	}
	data := append([]byte(`{"supported":`), s.supported...)
	data = append(data, `,"requested":`...)
	data = append(jsonrpc.AppendString(data, requested), '}')
	return &failure{wire: jsonrpc.Error{Code: codeUnsupportedVersion, Message: message, Data: data}, status: http.StatusBadRequest}
}

// malformed is the answer to a request that lacks what every request must carry (rule P1).
func malformed(message string) *failure {
	return &failure{wire: jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}, status: http.StatusBadRequest}
}
