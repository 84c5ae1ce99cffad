package jsonrpc

import "bytes"

// FindID looks for the id in the first [IDWindow] bytes of a message that cannot be decoded, or whose rest was not read, so
// that the error can carry it. It returns nil when there is none, when it is not a valid id, or when two ids stand there.
func FindID(data []byte) ID {
	data = data[:min(len(data), IDWindow)]
	data = trim(bytes.TrimPrefix(data, bom))
	if len(data) == 0 || data[0] != '{' {
		return nil
	}
	var found ID
	s := scanner{data: data, pos: 1}
	for {
		s.space()
		start := s.pos
		if s.peek() != '"' {
			return found
		}
		if _, err := s.string(); err != nil {
			return found
		}
		isID := stringIs(data[start:s.pos], "id")
		s.space()
		if s.peek() != ':' {
			return found
		}
		s.pos++
		s.space()
		start = s.pos
		n := valueLen(data[start:])
		s.pos += n
		if isID {
			if found != nil || s.pos >= len(data) || !validAlone(data[start:s.pos]) {
				return nil
			}
			found = ID(data[start:s.pos:s.pos])
		}
		s.space()
		if s.peek() != ',' {
			return found
		}
		s.pos++
	}
}

// validAlone reports whether v, taken from unchecked bytes, is an id.
func validAlone(v []byte) bool {
	if checkID(v) != nil {
		return false
	}
	s := scanner{data: v}
	return s.value() == nil && s.pos == len(v)
}
