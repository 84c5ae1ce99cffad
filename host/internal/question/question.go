// Package question checks what a provider asks of a client before a read can complete (rule R4): that a client of any revision
// can show it, and that a person can answer it safely.
//
// host imports it, for what providers return, host/wasmplugin, so that a guest is told at once, and host/providertest, which tells
// authors; host/internal/mcp knows the methods from it. It knows the shapes of the
// protocol's requests to clients, and no revision.
//
//	if err := question.Check(res.Input); err != nil {
//		// the provider broke its contract
//	}
//
// # Errors
//
// Check fails with a plain error whose text names the question and what is wrong with it; it is the author's to read, not the
// client's.
package question

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reshost/reshost/host/provider"
)

// The methods that a provider may ask by.
const (
	Elicit = "elicitation/create"
	Sample = "sampling/createMessage"
	Roots  = "roots/list"
)

// Bounds of one [provider.InputRequired].
const (
	// Max is the most questions, MaxKey the longest key in bytes.
	Max    = 16
	MaxKey = 256
	// MaxState is the most bytes of a state.
	MaxState = 8 << 10
	// maxParams is the most bytes of one question's parameters, maxDepth how deep they nest.
	maxParams = 64 << 10
	maxDepth  = 16
)

// Check reports how in breaks the contract of [provider.InputRequired].
func Check(in *provider.InputRequired) error {
	switch {
	case len(in.Requests) == 0 && in.State == nil:
		return errors.New("it asks nothing and keeps no state")
	case len(in.Requests) > Max:
		return fmt.Errorf("it asks %d questions, more than %d", len(in.Requests), Max)
	case len(in.State) > MaxState:
		return fmt.Errorf("its state has %d bytes, more than %d", len(in.State), MaxState)
	}
	seen := make(map[string]bool, len(in.Requests))
	for i := range in.Requests {
		q := &in.Requests[i]
		if err := CheckRequest(q); err != nil {
			return err
		}
		if seen[q.Key] {
			return fmt.Errorf("the key %q is there twice", q.Key)
		}
		seen[q.Key] = true
	}
	return nil
}

// CheckRequest is Check for one question.
func CheckRequest(q *provider.InputRequest) error {
	if q.Key == "" || len(q.Key) > MaxKey || !utf8.ValidString(q.Key) {
		return fmt.Errorf("the key is empty, longer than %d bytes or not UTF-8", MaxKey)
	}
	if err := checkRequest(q); err != nil {
		return fmt.Errorf("question %q: %w", q.Key, err)
	}
	return nil
}

func checkRequest(q *provider.InputRequest) error {
	check := map[string]func([]byte) error{Elicit: checkElicitation, Sample: checkSampling, Roots: func([]byte) error { return nil }}[q.Method]
	if check == nil {
		return fmt.Errorf("a client cannot be asked for %.64q: want %s, %s or %s", q.Method, Elicit, Sample, Roots)
	}
	if q.Params == nil && q.Method == Roots {
		return nil
	}
	if err := checkJSON(q.Params); err != nil {
		return fmt.Errorf("its params: %w", err)
	}
	return check(q.Params)
}

// checkJSON reports why params is not one JSON object within the bounds, by strict rules: no name twice, valid UTF-8.
func checkJSON(params []byte) error {
	if len(params) > maxParams {
		return fmt.Errorf("they are larger than %d bytes", maxParams)
	}
	d := jsontext.NewDecoder(bytes.NewReader(params))
	if d.PeekKind() != '{' {
		return errors.New("they are not a JSON object")
	}
	for {
		_, err := d.ReadToken()
		switch {
		case err != nil:
			return fmt.Errorf("they are not strict JSON: %w", err)
		case d.StackDepth() > maxDepth:
			return fmt.Errorf("they nest deeper than %d", maxDepth)
		case d.StackDepth() > 0:
			continue
		}
		if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
			return errors.New("they are not strict JSON: something follows the object")
		}
		return nil
	}
}
