package mcp_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reshost/reshost/host/internal/jsonrpc"
	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/provider"
)

// asked is a legacy client that is asked over HTTP.
type asked struct {
	t       *testing.T
	server  *mcp.Server
	who     *provider.Principal
	session string
}

// connect begins a session.
func connect(t *testing.T, server *mcp.Server, who string) *asked {
	t.Helper()
	c := &asked{t: t, server: server, who: &provider.Principal{Issuer: "i", Subject: who}}
	resp := c.send(t.Context(), nil, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":`+everything+`}}`)
	if c.session = resp.SessionID; c.session == "" {
		t.Fatalf("no session: %s", resp.Body)
	}
	return c
}

// read reads docs://ask; the client leaves when ctx is done, and ending ends the transport's streams.
func (c *asked) read(ctx, ending context.Context, stream mcp.Stream) mcp.Response {
	return c.request(ctx, ending, stream, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"docs://ask"}}`)
}

func (c *asked) send(ctx context.Context, stream mcp.Stream, line string) mcp.Response {
	return c.request(ctx, nil, stream, line)
}

func (c *asked) answer(id int) mcp.Response {
	return c.send(context.Background(), nil, fmt.Sprintf(`{"jsonrpc":"2.0","id":"ask-%d","result":{"action":"accept","content":{"by":%q}}}`, id, c.who.Subject))
}

func (c *asked) request(ctx, ending context.Context, stream mcp.Stream, line string) mcp.Response {
	m, jerr := jsonrpc.Decode([]byte(line))
	if jerr != nil {
		panic(jerr)
	}
	header := &mcp.Header{}
	if c.session != "" {
		header.Session = []string{c.session}
	}
	return c.server.Handle(ctx, &mcp.Request{
		Message: m, Principal: c.who, Header: header, Stream: stream, Ending: ending, Lasting: context.WithoutCancel(ctx),
	})
}

// mouth is a stream that keeps what is said.
type mouth struct {
	mu   sync.Mutex
	said []string
}

func (m *mouth) Send(message []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.said = append(m.said, string(message))
	return nil
}

func (m *mouth) all() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.said, "\n")
}

// shut is a stream that is closed.
type shut struct{}

func (shut) Send([]byte) error { return context.Canceled }

// A wait for an answer ends with whatever makes an answer impossible, at once, and its place is free then.
func TestAskEnds(t *testing.T) {
	const takenBack = `"method":"notifications/cancelled"`
	for _, tt := range []struct {
		name string
		end  func(c *asked, leave, end context.CancelFunc)
		// body and status are those of the answer; the body may be empty.
		body   string
		status int
		// back says that the client is told that the question needs no answer.
		back bool
	}{
		{"an answer", func(c *asked, _, _ context.CancelFunc) { c.answer(1) }, `"contents"`, 200, false},
		{"the client leaves", func(_ *asked, leave, _ context.CancelFunc) { leave() }, "", 200, false},
		{"the server ends", func(_ *asked, _, end context.CancelFunc) { end() }, `"reason":"unavailable"`, 200, true},
		{"the client cancels", func(c *asked, _, _ context.CancelFunc) {
			c.send(c.t.Context(), nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		}, "", 200, false},
		{"the session ends", func(c *asked, _, _ context.CancelFunc) {
			c.server.EndSession(&mcp.Header{Session: []string{c.session}}, c.who)
		}, "session", http.StatusNotFound, false},
		{"silence", func(*asked, context.CancelFunc, context.CancelFunc) { time.Sleep(time.Minute) }, `"reason":"timeout"`, 200, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := connect(t, mcp.NewServer(&library{}, &mcp.Options{MaxAsking: 1, AskTimeout: time.Minute}), "ann")
				client, leave := context.WithCancel(t.Context())
				ending, end := context.WithCancel(t.Context())
				defer end()
				defer leave()
				var stream mouth
				done := make(chan mcp.Response, 1)
				go func() { done <- c.read(client, ending, &stream) }()
				synctest.Wait()
				if !strings.Contains(stream.all(), `"id":"ask-1"`) {
					t.Fatalf("it is not asked: %s", stream.all())
				}
				tt.end(c, leave, end)
				synctest.Wait()
				select {
				case resp := <-done:
					if !strings.Contains(string(resp.Body), tt.body) || tt.name == "the client cancels" && len(resp.Body) > 0 || resp.Status != tt.status {
						t.Errorf("%d %s", resp.Status, resp.Body)
					}
				default:
					t.Error("it waits on")
					leave()
				}
				if got := strings.Contains(stream.all(), takenBack); got != tt.back {
					t.Errorf("the question is taken back: %v, want %v", got, tt.back)
				}
				again := connect(t, c.server, "bob") // only one may wait
				go func() { done <- again.read(t.Context(), nil, &stream) }()
				synctest.Wait()
				again.answer(1)
				if resp := <-done; !strings.Contains(string(resp.Body), "contents") {
					t.Errorf("its place is not free: %s", resp.Body)
				}
			})
		})
	}
}

// A client that cannot be written to is not waited for.
func TestAskOfNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, mcp.NewServer(&library{}, nil), "ann")
		start := time.Now()
		c.read(t.Context(), nil, shut{})
		if took := time.Since(start); took > 0 {
			t.Errorf("it waited %v", took)
		}
		resp := c.read(t.Context(), nil, nil)
		if !strings.Contains(string(resp.Body), "text/event-stream") {
			t.Errorf("without a stream: %s", resp.Body)
		}
	})
}

// What the backend cannot log, since it has done its part, is one line too.
func TestUnaskedIsLogged(t *testing.T) {
	var log bytes.Buffer
	server := mcp.NewServer(&library{}, &mcp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	c := connect(t, server, "ann")
	c.read(t.Context(), nil, nil)
	c.request(t.Context(), nil, nil, `{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"docs://a"}}`)
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "uri=docs://ask revision=2025-11-25") {
		t.Errorf("the log says %s", got)
	}
}

// Reads that wait are bounded, in all and by questions of one session; nobody else notices.
func TestAskBounds(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts mcp.Options
		most int
	}{
		{"in all", mcp.Options{MaxAsking: 3}, 3},
		{"in a session", mcp.Options{}, 64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := connect(t, mcp.NewServer(&library{}, &tt.opts), "ann")
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				for range tt.most {
					wg.Go(func() { c.read(ctx, nil, &mouth{}) })
				}
				synctest.Wait()
				if resp := c.read(t.Context(), nil, &mouth{}); !strings.Contains(string(resp.Body), "too many questions") {
					t.Errorf("one more is asked: %s", resp.Body)
				}
				resp := c.send(t.Context(), &mouth{}, `{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"docs://a"}}`)
				if !strings.Contains(string(resp.Body), "contents") {
					t.Errorf("who asks nothing is refused: %s", resp.Body)
				}
				cancel()
				wg.Wait()
			})
		})
	}
}

// HTTP-13: what one client was asked only that client answers, although all questions have the same ids.
func TestAnswersStayInTheirSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mcp.NewServer(&library{}, nil)
		ann, bob := connect(t, server, "ann"), connect(t, server, "bob")
		anns := make(chan mcp.Response, 1)
		go func() { anns <- ann.read(t.Context(), nil, &mouth{}) }()
		synctest.Wait()
		bob.answer(1)
		thief := &asked{t: t, server: server, who: bob.who, session: ann.session}
		if resp := thief.answer(1); resp.Status != http.StatusNotFound {
			t.Errorf("an answer in another's session: %d", resp.Status)
		}
		nobody := &asked{t: t, server: server, who: bob.who}
		if resp := nobody.answer(1); resp.Status != http.StatusBadRequest {
			t.Errorf("an answer without a session: %d", resp.Status)
		}
		synctest.Wait()
		if len(anns) > 0 {
			t.Fatalf("answered by another: %s", (<-anns).Body)
		}
		ann.answer(1)
		if resp := <-anns; !strings.Contains(string(resp.Body), `\"by\":\"ann\"`) {
			t.Errorf("%s", resp.Body)
		}
	})
}

// Many reads, answers that come twice, too early, from elsewhere or not at all, cancellations and ends: every read ends. For -race.
func TestAskHammer(t *testing.T) {
	server := mcp.NewServer(&library{}, &mcp.Options{AskTimeout: 50 * time.Millisecond})
	c := connect(t, server, "ann")
	var readers, others sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(50 * time.Microsecond):
					c.answer(rand.IntN(400))
					if rand.IntN(50) == 0 {
						c.send(t.Context(), nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
					}
				}
			}
		})
	}
	for range 8 {
		readers.Go(func() {
			for range 25 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(100))*time.Millisecond)
				c.read(ctx, nil, &mouth{})
				cancel()
			}
		})
	}
	readers.Wait()
	close(stop)
	others.Wait()
	done := make(chan mcp.Response, 1)
	go func() { done <- c.read(t.Context(), nil, &mouth{}) }()
	if resp := <-done; len(resp.Body) == 0 {
		t.Error("no answer")
	}
}
