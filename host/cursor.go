package host

import (
	"encoding/binary"
	"errors"

	"github.com/reshost/reshost/host/provider"
)

// cursor is where the next page of a list begins. It names a provider, not a generation, so that a walk survives a reload and,
// with the operator's key, a restart.
type cursor struct {
	// provider is whose entries come next, and prev who stood before it; empty when nobody did.
	provider, prev string
	// guest says that they come from Provider.List; otherwise they are the facts of Info, from offset on.
	guest bool
	// offset counts the entries that are done: of Info, or of the page at token.
	offset int
	// token is the provider's own cursor; nil is its first page.
	token []byte
	// pages counts the provider's pages so far.
	pages int
	// public is the scope that page one was sent with (rule P6).
	public bool
}

const (
	cursorVersion = 1
	flagGuest     = 1
	flagToken     = 2
	flagPublic    = 4

	// maxToken bounds a provider's own cursor.
	maxToken = 16 << 10
	// maxCursor bounds what is looked at of a client's: a token, a name and the seal, in base64.
	maxCursor = 24 << 10
	// maxOffset bounds what a cursor counts.
	maxOffset = 1 << 30
)

var errCursor = errors.New("the cursor is not one of this list for this caller, or too old")

// errBadCursor is what callers get. They learn nothing about why.
func errBadCursor(cause error) error {
	return provider.Wrap(provider.Invalid, cause, "the cursor is not valid: begin with the first page")
}

// binding is what a sealed text is good for: this use, by this caller. Each part is preceded by its length, so that no two uses
// and no two callers share one.
func (c *caller) binding(use ...string) []byte {
	var b []byte
	for _, s := range append(use, c.principal.Issuer, c.principal.Subject, c.principal.Tenant) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

// sealCursor returns c for the client.
func (h *Host) sealCursor(method string, who *caller, c *cursor) (string, error) {
	return h.seal.seal(c.encode(), who.binding("cursor", method))
}

// openCursor reads what a client sent. Whatever is wrong with it, it is Invalid.
func (h *Host) openCursor(method string, who *caller, text string) (*cursor, error) {
	if len(text) > maxCursor {
		return nil, errBadCursor(errCursor)
	}
	plain, err := h.seal.open(text, who.binding("cursor", method))
	if err != nil {
		return nil, errBadCursor(err)
	}
	c, err := decodeCursor(plain)
	if err != nil {
		return nil, errBadCursor(err)
	}
	return c, nil
}

func (c *cursor) encode() []byte {
	flags := byte(0)
	if c.guest {
		flags |= flagGuest
	}
	if c.token != nil {
		flags |= flagToken
	}
	if c.public {
		flags |= flagPublic
	}
	b := []byte{cursorVersion, flags}
	b = binary.AppendUvarint(b, uint64(c.offset))
	b = binary.AppendUvarint(b, uint64(c.pages))
	for _, name := range []string{c.prev, c.provider} {
		b = binary.AppendUvarint(b, uint64(len(name)))
		b = append(b, name...)
	}
	return append(b, c.token...)
}

func decodeCursor(b []byte) (*cursor, error) {
	if len(b) < 2 || b[0] != cursorVersion || b[1]&^(flagGuest|flagToken|flagPublic) != 0 {
		return nil, errCursor
	}
	c := &cursor{guest: b[1]&flagGuest != 0, public: b[1]&flagPublic != 0}
	hasToken := b[1]&flagToken != 0
	b = b[2:]
	for _, field := range []*int{&c.offset, &c.pages} {
		var ok bool
		if *field, b, ok = cutNumber(b); !ok {
			return nil, errCursor
		}
	}
	for _, field := range []*string{&c.prev, &c.provider} {
		n, rest, ok := cutNumber(b)
		if !ok || n > len(rest) {
			return nil, errCursor
		}
		*field, b = string(rest[:n]), rest[n:]
	}
	if hasToken {
		c.token = append([]byte{}, b...)
	} else if len(b) > 0 {
		return nil, errCursor
	}
	return c, nil
}

func cutNumber(b []byte) (v int, rest []byte, ok bool) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n > maxOffset {
		return 0, nil, false
	}
	return int(n), b[used:], true
}

// resume returns the index of the view where a cursor goes on, and the cursor as it holds there. Providers may have come and
// gone since: those that stay are neither skipped nor listed twice. It is not ok when nothing tells the place any more.
func (s *snapshot) resume(c *cursor) (int, cursor, bool) {
	at, here := s.byName[c.provider]
	first := 0 // where it stood, if who stood before it is still there
	known := c.prev == ""
	if prev, ok := s.byName[c.prev]; ok {
		first, known = prev+1, true
	}
	switch {
	case here && (!known || at <= first):
		return at, *c, true
	case known: // it went, or went and came back behind others that have not been listed
		return first, cursor{prev: c.prev, public: c.public}, true
	default:
		return 0, cursor{}, false
	}
}
