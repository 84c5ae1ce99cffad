package client

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

var errTooLong = fmt.Errorf("the server sent a message of more than %d bytes", maxMessage)

// events reads an event stream (HTML Living Standard, section 9.2): of each event its data, in which lines are joined. Other
// fields and comments are passed over, and so are events without data.
type events struct {
	r         *bufio.Reader
	buf, data []byte
	afterCR   bool
	max       int
}

func newEvents(r io.Reader) *events {
	return &events{r: bufio.NewReaderSize(r, 16<<10), max: maxMessage}
}

// next returns the next event's data, valid until the next call; io.EOF at the end, where an event without its empty line is
// dropped, as the standard says.
func (e *events) next() ([]byte, error) {
	e.data = e.data[:0]
	some := false
	for {
		line, err := e.line()
		switch {
		case err != nil:
			return nil, err
		case len(line) == 0 && some:
			return e.data[:len(e.data)-1], nil // without the last line's end
		}
		if data, ok := dataOf(line); ok {
			if len(e.data)+len(data) >= e.max {
				return nil, errTooLong
			}
			e.data = append(append(e.data, data...), '\n')
			some = true
		}
	}
}

// dataOf returns the value of a line of the field "data".
func dataOf(line []byte) ([]byte, bool) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	return bytes.TrimPrefix(value, []byte(" ")), string(name) == "data"
}

// line returns a line without its end, which is LF, CR LF or CR.
func (e *events) line() ([]byte, error) {
	e.buf = e.buf[:0]
	for {
		b, err := e.r.ReadByte()
		switch {
		case err != nil:
			return nil, err
		case b == '\n' && e.afterCR:
			e.afterCR = false
		case b == '\n' || b == '\r':
			e.afterCR = b == '\r'
			return e.buf, nil
		case len(e.buf) > e.max:
			return nil, errTooLong
		default:
			e.afterCR = false
			e.buf = append(e.buf, b)
		}
	}
}
