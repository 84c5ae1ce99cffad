package fetch

import (
	"errors"
	"io"
)

// body reads an answer's body: bounded, and with secrets blanked out, wherever the pieces are cut.
type body struct {
	from   io.ReadCloser
	blanks *blanks
	left   int64 // bytes that may still come; negative: the bound was passed
	max    int64
	buf    []byte // read and not yet given
	mask   []bool // where buf is to be blanked
	ready  int    // so many bytes of buf have their final mask
	err    error
}

// bodyChunk is how much is read at once.
const bodyChunk = 32 << 10

// Read fills p with what is there, and waits only where nothing is.
func (b *body) Read(p []byte) (int, error) {
	for b.ready == 0 && b.err == nil {
		b.more()
	}
	if b.ready == 0 {
		if errors.Is(b.err, io.EOF) {
			return 0, io.EOF
		}
		return 0, b.err
	}
	n := copy(p, b.buf[:b.ready])
	cover(p[:n], b.mask)
	b.buf, b.mask = b.buf[n:], b.mask[n:]
	b.ready -= n
	return n, nil
}

// more reads a piece. What may be the beginning of a secret stays back until the rest is known.
func (b *body) more() {
	at := len(b.buf)
	b.buf = append(b.buf, make([]byte, bodyChunk)...)
	n, err := b.from.Read(b.buf[at:])
	b.buf = b.buf[:at+n]
	b.mask = append(b.mask, make([]bool, n)...)
	if b.left -= int64(n); b.left < 0 {
		b.buf, b.err = nil, tooLarge("the answer's body is larger than %d bytes", b.max)
		return
	}
	b.blanks.mark(b.buf, b.mask)
	b.err = err
	b.ready = len(b.buf)
	if err == nil {
		b.ready = max(len(b.buf)-max(b.blanks.longest-1, 0), 0)
	}
}
