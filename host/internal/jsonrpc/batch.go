package jsonrpc

import (
	"bytes"
	"fmt"
)

// MaxBatch is the most messages of a batch.
const MaxBatch = 100

// IsBatch reports whether data would be a batch: whether its first token begins an array.
func IsBatch(data []byte) bool {
	data = trim(bytes.TrimPrefix(data, bom))
	return len(data) > 0 && data[0] == '['
}

// SplitBatch returns the messages of a batch, each to be given to [Decode]. It checks that the whole is JSON by the rules of
// Decode.
func SplitBatch(data []byte) ([][]byte, *Error) {
	data = bytes.TrimPrefix(data, bom)
	s := scanner{data: data}
	s.space()
	begin := s.pos
	if err := s.value(); err != nil {
		return nil, err
	}
	if err := s.end(); err != nil {
		return nil, err
	}
	var messages [][]byte
	for l := Elements(data[begin:]); l.Next(); {
		if len(messages) == MaxBatch {
			return nil, invalid(fmt.Sprintf("a batch holds at most %d messages", MaxBatch))
		}
		messages = append(messages, l.Value)
	}
	if len(messages) == 0 {
		return nil, invalid("a batch must not be empty")
	}
	return messages, nil
}
