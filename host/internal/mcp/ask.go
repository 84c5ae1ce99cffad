package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/reshost/reshost/host/internal/jsonrpc"
	"github.com/reshost/reshost/host/provider"
)

// Clients of the older revisions know nothing of rounds: they are asked by requests of the server's own, on the stream of the read that
// waits for the answers (rule E2). To the backend the two look alike.

const (
	// maxRounds bounds how often one read may ask: a provider that is not satisfied by then never is.
	maxRounds = 10
	// pause is how long a read waits where the provider asks nothing and only wants to be called again.
	pause = 500 * time.Millisecond
	// maxQuestions bounds the questions that one session's client has not answered.
	maxQuestions = 64
)

// Why a wait for answers ends without them.
var (
	errNoAnswer   = errors.New("the client did not answer in time")
	errClientGone = errors.New("the client is gone")
	errEnding     = errors.New("the server is shutting down")
)

// rounds reads until there are contents, or a question that the client answers by a read of its own.
func (c *call) rounds(ctx context.Context, p *ReadParams) (*ReadResult, error) {
	res, err := c.server.backend.Read(ctx, &c.caller, p)
	if err != nil || res.Input == nil {
		return res, err
	}
	if err := c.checkAsked(res.Input); err != nil {
		return nil, c.unasked(err)
	}
	if c.rev.roundTrips {
		return res, nil
	}
	return c.dialogue(ctx, p, res.Input)
}

// dialogue asks the client, and reads again with its answers, until there are contents.
func (c *call) dialogue(ctx context.Context, p *ReadParams, in *provider.InputRequired) (*ReadResult, error) {
	wait, stop, err := c.beginAsking(ctx)
	if err != nil {
		return nil, c.unasked(err)
	}
	defer stop()
	for range maxRounds {
		if p.Inputs, err = c.ask(wait, in); err != nil {
			return nil, c.unasked(err)
		}
		p.State = in.State
		res, err := c.server.backend.Read(ctx, &c.caller, p)
		if err != nil || res.Input == nil {
			return res, err
		}
		in = res.Input
		if err := c.checkAsked(in); err != nil {
			return nil, c.unasked(err)
		}
	}
	return nil, c.unasked(provider.Errorf(provider.Unavailable, "the resource asked %d times and wants to ask again: read it again", maxRounds))
}

// unasked logs why a read could not be answered although the backend did its part, which has logged its own failures.
func (c *call) unasked(err error) error {
	level := slog.LevelInfo
	if provider.CodeOf(err) == provider.Canceled {
		level = slog.LevelDebug
	}
	c.server.log.Log(c.ctx, level, "a read could not ask its client for more", "uri", cut(c.uri, maxMessage), "revision", c.rev.name, "error", err)
	return err
}

// beginAsking counts a read among those that wait for their clients. It gives back what the read holds and a person's time must not cost.
// The context that it returns ends when no answer can come any more; its cause says why.
func (c *call) beginAsking(ctx context.Context) (wait context.Context, stop func(), err error) {
	s := c.server
	if s.asking.Add(1) > int64(s.opts.MaxAsking) {
		s.asking.Add(-1)
		return nil, nil, errTooManyQuestions()
	}
	c.detach()
	if len(c.caller.Meta) > s.opts.MaxMeta {
		c.caller.Meta = nil // the backend has refused it, or hands on nothing of it
	}
	limited, free := context.WithTimeoutCause(ctx, s.opts.AskTimeout, errNoAnswer)
	wait, cancel := context.WithCancelCause(limited)
	undo := []func() bool{context.AfterFunc(c.client, func() { cancel(errClientGone) })}
	if c.req.Ending != nil {
		undo = append(undo, context.AfterFunc(c.req.Ending, func() { cancel(errEnding) }))
	}
	return wait, func() {
		for _, f := range undo {
			f()
		}
		cancel(nil)
		free()
		s.asking.Add(-1)
	}, nil
}

func errTooManyQuestions() error {
	return &provider.Error{Code: provider.Unavailable, Message: "too many questions wait for their answers", RetryAfter: time.Second}
}

// ask puts the questions to the client and waits for all answers. What it leaves unanswered it takes back.
func (c *call) ask(wait context.Context, in *provider.InputRequired) ([]provider.InputResponse, error) {
	answers := make([]provider.InputResponse, len(in.Requests))
	if len(answers) == 0 {
		select {
		case <-time.After(pause):
			return answers, nil
		case <-wait.Done():
			return nil, c.noAnswer(wait)
		}
	}
	replies := make(chan reply, len(answers))
	ids, ok := c.session.ask(replies, len(answers))
	if !ok {
		return nil, errTooManyQuestions()
	}
	defer func() { c.takeBack(wait, c.session.forget(ids)) }()
	for i, id := range ids {
		if err := c.req.Stream.Send(c.appendQuestion(nil, id, &in.Requests[i])); err != nil {
			return nil, provider.Wrap(provider.Canceled, err, "")
		}
	}
	for range answers {
		select {
		case r := <-replies:
			q := &in.Requests[r.index]
			if err := r.check(q.Method); err != nil {
				return nil, err
			}
			answers[r.index] = provider.InputResponse{Key: q.Key, Result: r.result}
		case <-wait.Done():
			return nil, c.noAnswer(wait)
		}
	}
	return answers, nil
}

// noAnswer is why a wait ended.
func (c *call) noAnswer(wait context.Context) error {
	switch cause := context.Cause(wait); {
	case errors.Is(cause, errNoAnswer):
		f := c.providerFailure(provider.Wrap(provider.Timeout, cause, ""))
		f.wire.Message = fmt.Sprintf("The resource asked for more, and no answer came within %v", c.server.opts.AskTimeout)
		return f
	case errors.Is(cause, errEnding):
		return provider.Wrap(provider.Unavailable, cause, errEnding.Error())
	default: // it was cancelled, or nobody is there to be told
		return provider.Wrap(provider.Canceled, cause, "")
	}
}

// takeBack tells the client which questions need no answer any more, if anybody is there to be told.
func (c *call) takeBack(wait context.Context, ids []jsonrpc.ID) {
	if c.ctx.Err() != nil || errors.Is(context.Cause(wait), errClientGone) {
		return
	}
	for _, id := range ids {
		if c.req.Stream.Send(AppendCancelled(nil, id)) != nil {
			return
		}
	}
}

// appendQuestion writes a question as a request.
func (c *call) appendQuestion(out []byte, id jsonrpc.ID, q *provider.InputRequest) []byte {
	out = append(jsonrpc.AppendRequestHead(out, id, q.Method), `,"params":`...)
	return append(c.appendParams(out, q), '}')
}

// reply is what a client answers to the question of that place.
type reply struct {
	index       int
	result, err []byte
}

// check refuses what is no result.
func (r *reply) check(method string) error {
	if r.err != nil {
		message := ""
		for o := jsonrpc.Members(r.err); o.Next(); {
			if o.Is("message") {
				message = cut(jsonrpc.String(o.Value), maxClientMessage)
			}
		}
		return provider.Errorf(provider.Invalid, "the resource asked for more, and the client answered %s with an error: %s", method, message)
	}
	if jsonrpc.KindOf(r.result) != jsonrpc.Map {
		return provider.Errorf(provider.Invalid, "the resource asked for more, and the client's result of %s is no object", method)
	}
	return nil
}

// maxClientMessage is how much of a client's words it is told back.
const maxClientMessage = 256

// pending is a question that waits for its answer.
type pending struct {
	index   int
	replies chan<- reply // has room for it
}

// ask takes ids for n questions; it reports false where too many wait already, or the session has ended.
func (s *Session) ask(replies chan<- reply, n int) ([]jsonrpc.ID, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || len(s.questions)+n > maxQuestions {
		return nil, false
	}
	if s.questions == nil {
		s.questions = map[string]pending{}
	}
	ids := make([]jsonrpc.ID, n)
	for i := range ids {
		s.asked++
		ids[i] = strconv.AppendQuote(nil, "ask-"+strconv.FormatUint(s.asked, 10))
		s.questions[ids[i].Key()] = pending{i, replies}
	}
	return ids, true
}

// answer takes a client's response. One that answers nothing, or again, or too late, changes nothing.
func (s *Session) answer(m *jsonrpc.Message) {
	if m.ID == nil {
		return
	}
	s.mu.Lock()
	q, ok := s.questions[m.ID.Key()]
	delete(s.questions, m.ID.Key())
	s.mu.Unlock()
	if ok {
		q.replies <- reply{q.index, slices.Clone(m.Result), slices.Clone(m.Error)}
	}
}

// forget takes the questions back that have no answer, and returns their ids.
func (s *Session) forget(ids []jsonrpc.ID) (open []jsonrpc.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if _, ok := s.questions[id.Key()]; ok {
			delete(s.questions, id.Key())
			open = append(open, id)
		}
	}
	return open
}
