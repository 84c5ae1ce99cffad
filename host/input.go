package host

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/internal/question"
	"github.com/reshost/reshost/host/provider"
)

// A read may take several rounds (rule R4): the provider asks the client for more, and the client reads again with its answers.
// The host keeps nothing in between. What the provider wants back it hands to the client, sealed.

const stateVersion = 1

// maxSealedState bounds what is looked at of a client's: a version, a time, a state and the seal, in base64.
var maxSealedState = base64.RawURLEncoding.EncodedLen(sealSalt + sealTag + 1 + binary.MaxVarintLen64 + question.MaxState)

var (
	errState   = errors.New("the state is not one of this read for this caller under these rules")
	errExpired = errors.New("the state has expired")
)

// again reports whether the request is a retry: nothing of it may be stored or shared, since its inputs are in no key (rule P6).
func (j *readJob) again() bool { return j.req.State != nil || j.req.Inputs != nil }

// openRetry checks what a retry brings and finds the provider's state in it. All of it is the client's word, save the state.
func (j *readJob) openRetry() error {
	if err := checkInputs(j.req.Inputs); err != nil {
		return err
	}
	if j.req.State == nil {
		return nil
	}
	state, err := j.openState(string(j.req.State), time.Now())
	switch {
	case errors.Is(err, errExpired):
		return provider.Wrap(provider.Invalid, err, "the requestState has expired: read the resource again without it")
	case err != nil:
		return provider.Wrap(provider.Invalid, err, "the requestState is not one that was given for this read: read the resource again without it")
	}
	j.state = state
	return nil
}

// checkInputs refuses answers that no provider should have to look at.
func checkInputs(inputs []provider.InputResponse) error {
	if len(inputs) > question.Max {
		return provider.Errorf(provider.Invalid, "there are more than %d inputResponses", question.Max)
	}
	for i := range inputs {
		in := &inputs[i]
		if in.Key == "" || len(in.Key) > question.MaxKey || !utf8.ValidString(in.Key) {
			return provider.Errorf(provider.Invalid, "a key of inputResponses is empty, longer than %d bytes or not UTF-8", question.MaxKey)
		}
		if len(in.Result) == 0 {
			return provider.Errorf(provider.Invalid, "the answer %q of inputResponses is missing", in.Key)
		}
		if err := checkObject(in.Result, maxExtraBytes); err != nil {
			return provider.Errorf(provider.Invalid, "the answer %q of inputResponses: %v", in.Key, err)
		}
	}
	return nil
}

// question checks what the provider asks, and seals its state.
func (j *readJob) question(res *provider.ReadResult) (*mcp.ReadResult, error) {
	if len(res.Contents) > 0 || res.NotModified {
		return nil, fault("it asked for more and answered too")
	}
	in := res.Input
	if err := question.Check(in); err != nil {
		return nil, fault("its question to the client: " + err.Error())
	}
	if limit := j.opts.Limits.StateBytes; len(in.State) > limit {
		return nil, fault(fmt.Sprintf("its state for the client has more than %d bytes", limit))
	}
	if j.local {
		if err := j.answerable(in); err != nil {
			return nil, err
		}
	}
	out := &provider.InputRequired{Requests: in.Requests}
	if in.State != nil {
		sealed, err := j.sealState(in.State, time.Now())
		if err != nil {
			return nil, err
		}
		out.State = []byte(sealed)
	}
	return &mcp.ReadResult{Input: out}, nil
}

// stateUse is what a state is good for: a retry of this read, by this caller, under the rules as they are, at this provider.
func (j *readJob) stateUse() ([]byte, error) {
	rules, err := j.policyRevision()
	if err != nil {
		return nil, err
	}
	return j.caller.binding("state", "read", j.route.uri, rules, j.route.name), nil
}

// sealState returns the state as the client carries it, good until Limits.Input from now.
func (j *readJob) sealState(state []byte, now time.Time) (string, error) {
	use, err := j.stateUse()
	if err != nil {
		return "", err
	}
	until := now.Add(min(j.opts.Limits.Input, maxStateLife))
	plain := binary.AppendUvarint([]byte{stateVersion}, uint64(until.UnixMilli()))
	return j.seal.seal(append(plain, state...), use)
}

// maxStateLife is how long a state lives where the limit is switched off.
const maxStateLife = 365 * 24 * time.Hour

// openState returns what sealState was given, never nil without an error.
func (j *readJob) openState(text string, now time.Time) ([]byte, error) {
	if len(text) > maxSealedState {
		return nil, errState
	}
	use, err := j.stateUse()
	if err != nil {
		return nil, err
	}
	plain, err := j.seal.open(text, use)
	if err != nil {
		return nil, errState
	}
	if len(plain) == 0 || plain[0] != stateVersion {
		return nil, errState
	}
	until, n := binary.Uvarint(plain[1:])
	if n <= 0 {
		return nil, errState
	}
	if uint64(now.UnixMilli()) >= until {
		return nil, errExpired
	}
	return plain[1+n:], nil
}

// policyRevision identifies the operator's rules as they are.
func (h *Host) policyRevision() (revision string, err error) {
	if h.opts.Policy == nil {
		return "", nil
	}
	err = guard("Policy.Revision", func() error {
		revision = h.opts.Policy.Revision()
		return nil
	})
	return revision, err
}

// answerable refuses questions that a reader in process does not answer.
func (j *readJob) answerable(in *provider.InputRequired) error {
	for i := range in.Requests {
		if method := in.Requests[i].Method; !slices.Contains(j.req.InputMethods, method) {
			return provider.Errorf(provider.Unsupported, "the resource asks its reader for more by %s, which this one does not answer", method)
		}
	}
	if len(in.Requests) == 0 && len(j.req.InputMethods) == 0 {
		return provider.Errorf(provider.Unsupported, "the resource wants to be read again with a state, which this reader does not do")
	}
	return nil
}
