package stdio

import (
	"bufio"
	"errors"
	"io"

	"github.com/reshost/reshost/host/internal/jsonrpc"
)

// lineReader splits a stream into lines of bounded length.
type lineReader struct {
	in  *bufio.Reader
	max int
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(r, 64<<10), max: limit}
}

// next returns the next line without its newline; the bytes are the caller's. Of a line above the limit it returns the
// beginning, in which an id can be looked for, and long; the rest is skipped. The last line needs no newline: it comes
// with the error that ended the stream.
func (l *lineReader) next() (text []byte, long bool, err error) {
	for {
		part, err := l.in.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if err == nil {
			part = part[:len(part)-1]
		}
		if !long && len(text)+len(part) > l.max {
			long = true
			text = append(text, part[:min(len(part), jsonrpc.IDWindow)]...)
			text = text[:min(len(text), jsonrpc.IDWindow)]
		} else if !long {
			text = append(text, part...)
		}
		if full {
			continue
		}
		return text, long, err
	}
}
