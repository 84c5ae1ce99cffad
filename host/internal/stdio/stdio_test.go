package stdio_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/reshost/reshost/host/internal/jsonrpc"
	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/internal/stdio"
	"github.com/reshost/reshost/host/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backend answers reads by a function and has nothing else.
type backend struct {
	read func(ctx context.Context, c *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error)
}

func (b *backend) Features(context.Context, *mcp.Caller) mcp.Features { return mcp.Features{} }

func (b *backend) ListResources(context.Context, *mcp.Caller, *string) (*mcp.ResourcePage, error) {
	return &mcp.ResourcePage{}, nil
}

func (b *backend) ListTemplates(context.Context, *mcp.Caller, *string) (*mcp.TemplatePage, error) {
	return &mcp.TemplatePage{}, nil
}

func (b *backend) Read(ctx context.Context, c *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
	if b.read != nil {
		return b.read(ctx, c, p)
	}
	return text(p.URI, "content"), nil
}

func (b *backend) Listen(context.Context, *mcp.Caller, bool) (mcp.Subscription, error) {
	return nil, provider.Errorf(provider.Unsupported, "nothing to listen to")
}

func (b *backend) Complete(context.Context, *mcp.Caller, *mcp.CompleteParams) (*mcp.Completion, error) {
	return nil, provider.Errorf(provider.Invalid, "no templates")
}

func text(uri, s string) *mcp.ReadResult {
	return &mcp.ReadResult{Contents: []provider.Content{{URI: uri, Text: true, Body: []byte(s)}}}
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func read(id any, uri string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"resources/read","params":{"uri":%q,%s}}`+"\n", id, uri, meta)
}

// pipe is a client of a server that runs.
type pipe struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	done chan error
}

func start(ctx context.Context, t *testing.T, b *backend, opts *stdio.Options) *pipe {
	in, w := io.Pipe()
	r, out := io.Pipe()
	p := &pipe{t, w, bufio.NewReaderSize(r, 64<<10), make(chan error, 1)}
	go func() {
		err := stdio.Serve(ctx, mcp.NewServer(b, nil), in, out, opts)
		in.Close()
		out.Close()
		p.done <- err
	}()
	return p
}

func (p *pipe) send(s string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, s); err != nil {
		p.t.Errorf("write: %v", err)
	}
}

// next returns the next message, "" at the end.
func (p *pipe) next() string {
	l, err := p.out.ReadString('\n')
	if err != nil && l != "" {
		p.t.Errorf("half a line: %q", l)
	}
	return strings.TrimSuffix(l, "\n")
}

// idOf returns the id of an answer.
func idOf(message string) string {
	for o := jsonrpc.Members([]byte(message)); o.Next(); {
		if o.Is("id") {
			return string(o.Value)
		}
	}
	return ""
}

// STD-01: a line up to the limit is served; a longer one gets one error with its id, and the next line is answered.
func TestLongLines(t *testing.T) {
	const limit = 1 << 20
	padded := func(id, n int) string {
		m := read(id, "docs://a")
		return strings.Replace(m, `"_meta":{`, `"_meta":{"pad":"`+strings.Repeat("x", n-len(m)-len(`"pad":"",`)+1)+`",`, 1)
	}
	p := start(t.Context(), t, &backend{read: func(_ context.Context, _ *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
		if p.URI == "docs://big" {
			return text(p.URI, strings.Repeat("y", 5<<20)), nil
		}
		return text(p.URI, "x"), nil
	}}, &stdio.Options{MaxMessage: limit})
	for _, tt := range []struct {
		line string
		want string
	}{
		{padded(1, 70_000), `"id":1,"result"`},
		{padded(2, limit), `"id":2,"result"`},
		{padded(3, limit+1), `"id":3,"error":{"code":-32600`},
		{padded(4, 3*limit), `"id":4,"error":{"code":-32600`},
		{strings.Repeat(" ", 2*limit) + "\n", `{"jsonrpc":"2.0","error":{"code":-32600`},
		{read(5, "docs://big"), strings.Repeat("y", 5<<20)},
		{read(6, "docs://a"), `"id":6,"result"`},
	} {
		go p.send(tt.line)
		if got := p.next(); !strings.Contains(got, tt.want) {
			t.Errorf("%.60s (%d bytes): got %.200s, want %.60s", tt.line, len(tt.line), got, tt.want)
		}
	}
	p.in.Close()
	if got := p.next(); got != "" {
		t.Errorf("more: %.200s", got)
	}
	if err := <-p.done; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// STD-02: however the bytes are cut, every message is answered once.
func TestChunks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var all bytes.Buffer
	const n = 200
	for i := range n {
		m := read(i, "docs://a")
		pad := strings.Repeat(" ", rnd.IntN(1+rnd.IntN(100_000)))
		all.WriteString(m[:len(m)-1] + pad + "\n")
	}
	p := start(t.Context(), t, &backend{}, nil)
	go func() {
		for all.Len() > 0 {
			p.send(string(all.Next(1 + rnd.IntN(1+rnd.IntN(50_000)))))
		}
		p.in.Close()
	}()
	seen := map[string]int{}
	for m := p.next(); m != ""; m = p.next() {
		seen[idOf(m)]++
	}
	for i := range n {
		if seen[fmt.Sprint(i)] != 1 {
			t.Errorf("id %d was answered %d times", i, seen[fmt.Sprint(i)])
		}
	}
	if err := <-p.done; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// STD-04: everything that was asked before the end of input is answered, and then Serve returns at once.
func TestEndOfInputDrains(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			p := start(t.Context(), t, &backend{read: func(_ context.Context, _ *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
				time.Sleep(50 * time.Millisecond)
				return text(p.URI, "slow"), nil
			}}, nil)
			begin := time.Now()
			go func() {
				var all strings.Builder
				for i := range 20 {
					all.WriteString(read(i, "docs://slow"))
				}
				p.send(strings.TrimSuffix(all.String(), "\n")) // the last line needs no newline
				p.in.Close()
			}()
			n := 0
			for p.next() != "" {
				n++
			}
			if err := <-p.done; err != nil || n != 20 {
				t.Errorf("%d answers, Serve: %v", n, err)
			}
			if d := time.Since(begin); d > 100*time.Millisecond {
				t.Errorf("it took %v", d)
			}
		})
	}
}

// The drain is bounded, and so is what ignores its cancellation.
func TestDrainIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan bool)
		p := start(t.Context(), t, &backend{read: func(ctx context.Context, _ *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
			if p.URI == "docs://deaf" {
				<-release
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}}, nil)
		begin := time.Now()
		go func() {
			p.send(read(1, "docs://never") + read(2, "docs://deaf"))
			p.in.Close()
		}()
		if m := p.next(); m != "" {
			t.Errorf("got %s", m)
		}
		if err := <-p.done; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if d := time.Since(begin); d < 5*time.Second || d > 8*time.Second {
			t.Errorf("it took %v", d)
		}
		close(release)
	})
}

// RPC-07, P8: an id in flight is refused, the first request goes on; a string is another id than a number.
func TestIDInFlight(t *testing.T) {
	started, release := make(chan bool), make(chan bool)
	p := start(t.Context(), t, &backend{read: func(_ context.Context, _ *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
		if p.URI == "docs://slow" {
			started <- true
			<-release
		}
		return text(p.URI, p.URI), nil
	}}, nil)
	p.send(read(7, "docs://slow"))
	<-started
	p.send(read(7, "docs://fast"))
	if got := p.next(); !strings.Contains(got, `"id":7,"error":{"code":-32600`) {
		t.Errorf("second: %s", got)
	}
	p.send(read(`"7"`, "docs://fast"))
	if got := p.next(); !strings.Contains(got, `"id":"7","result"`) {
		t.Errorf("string: %s", got)
	}
	close(release)
	if got := p.next(); !strings.Contains(got, `"id":7,"result"`) || !strings.Contains(got, "docs://slow") {
		t.Errorf("first: %s", got)
	}
	p.send(read(7, "docs://fast"))
	if got := p.next(); !strings.Contains(got, `"id":7,"result"`) {
		t.Errorf("again: %s", got)
	}
	p.in.Close()
	<-p.done
}

// N1: a cancelled request stops, and nothing more is sent for it; other ids and odd ones change nothing.
func TestCancel(t *testing.T) {
	var stopped atomic.Int32
	started := make(chan bool)
	finish := make(chan bool)
	p := start(t.Context(), t, &backend{read: func(ctx context.Context, _ *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
		started <- true
		if p.URI == "docs://deaf" { // answers although it was cancelled
			<-ctx.Done()
			stopped.Add(1)
			return text(p.URI, "too late"), nil
		}
		<-finish
		return text(p.URI, "done"), ctx.Err()
	}}, nil)
	cancel := func(id string) {
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"x"}}` + "\n")
	}
	p.send(read(1, "docs://deaf"))
	<-started
	p.send(read(2, "docs://a"))
	<-started
	for _, odd := range []string{`99`, `"2"`, `null`, `{}`, `1`, `1`} {
		cancel(odd)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled"}` + "\n")
	p.send(read(1, "docs://deaf")) // the id is free again
	<-started
	cancel("1")
	close(finish)
	if got := p.next(); !strings.Contains(got, `"id":2,"result"`) {
		t.Errorf("got %s", got)
	}
	p.in.Close()
	if got := p.next(); got != "" {
		t.Errorf("sent for a cancelled request: %s", got)
	}
	if err := <-p.done; err != nil || stopped.Load() != 2 {
		t.Errorf("Serve: %v, %d stopped", err, stopped.Load())
	}
}

// Too many at once: a clear error with the id, and cancelling still works.
func TestConcurrencyLimit(t *testing.T) {
	started := make(chan bool)
	p := start(t.Context(), t, &backend{read: func(ctx context.Context, _ *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
		started <- true
		<-ctx.Done()
		return nil, ctx.Err()
	}}, &stdio.Options{MaxConcurrent: 1})
	p.send(read(1, "docs://a"))
	<-started
	p.send(read(2, "docs://a"))
	if got := p.next(); !strings.Contains(got, `"id":2,"error":{"code":-32603,"message":"The server is busy"`) {
		t.Errorf("got %s", got)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n")
	answers := make(chan string)
	go func() {
		defer close(answers)
		for m := p.next(); m != ""; m = p.next() {
			answers <- m
		}
	}()
	// The place is free once the cancelled call has come back, which may be a moment later: until then it is busy.
	id := 3
	for served := false; !served; {
		p.send(read(id, "docs://a"))
		select {
		case <-started:
			served = true
		case <-answers:
			id++
		}
	}
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", id))
	p.in.Close()
	for m := range answers {
		t.Errorf("sent after the cancellation: %s", m)
	}
	if err := <-p.done; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// When the context is done, Serve cancels what is in flight and returns, although both streams block.
func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan bool)
	p := start(ctx, t, &backend{read: func(ctx context.Context, _ *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
		if p.URI != "docs://slow" {
			return text(p.URI, "x"), nil
		}
		started <- true
		<-ctx.Done()
		return nil, ctx.Err()
	}}, nil)
	p.send(read(1, "docs://slow"))
	<-started
	p.send(read(2, "docs://a")) // nobody reads its answer
	cancel()
	if err := <-p.done; !errors.Is(err, context.Canceled) {
		t.Errorf("Serve: %v", err)
	}
}

// A client that never reads costs bounded memory: the server stops reading too, and ends when asked.
func TestClientNeverReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := start(ctx, t, &backend{}, &stdio.Options{MaxConcurrent: 10})
		sent := make(chan int)
		go func() {
			n := 0
			for ; ; n++ {
				if _, err := io.WriteString(p.in, read(n, "docs://a")); err != nil {
					break
				}
			}
			sent <- n
		}()
		synctest.Wait() // nothing moves any more
		cancel()
		if err := <-p.done; !errors.Is(err, context.Canceled) {
			t.Errorf("Serve: %v", err)
		}
		if n := <-sent; n > 1000 {
			t.Errorf("%d requests were taken", n)
		}
	})
}

// A client whose end is closed ends Serve with the reason.
func TestClientIsGone(t *testing.T) {
	in, w := io.Pipe()
	r, out := io.Pipe()
	r.Close()
	done := make(chan error)
	go func() { done <- stdio.Serve(t.Context(), mcp.NewServer(&backend{}, nil), in, out, nil) }()
	io.WriteString(w, read(1, "docs://a"))
	if err := <-done; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Serve: %v", err)
	}
	w.Close()
}

// Over pipes of the operating system, whose reads can be interrupted, nothing stays behind (goleak).
func TestOSPipes(t *testing.T) {
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, f := range []*os.File{in, w, r, out} {
			f.Close()
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- stdio.Serve(ctx, mcp.NewServer(&backend{}, nil), in, out, nil) }()
	io.WriteString(w, read(1, "docs://a"))
	if l, err := bufio.NewReader(r).ReadString('\n'); err != nil || !strings.Contains(l, `"id":1,"result"`) {
		t.Errorf("got %q, %v", l, err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Serve: %v", err)
	}
}

// BenchmarkRoundTrip is one read after the other over pipes of the operating system.
func BenchmarkRoundTrip(b *testing.B) {
	in, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	r, out, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- stdio.Serve(context.Background(), mcp.NewServer(&backend{}, nil), in, out, nil) }()
	client := bufio.NewReader(r)
	line := []byte(read(1, "docs://a"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Write(line); err != nil {
			b.Fatal(err)
		}
		if _, err := client.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	w.Close()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	in.Close()
	r.Close()
	out.Close()
}

// TestTurns: of many requests written at once so many are served at a time, all are answered, and one that waits can be
// cancelled (STD-02, N1).
func TestTurns(t *testing.T) {
	const requests, running = 200, 4
	var now, most atomic.Int64
	gate := make(chan struct{})
	b := &backend{read: func(ctx context.Context, _ *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return text(p.URI, "content"), nil
	}}
	p := start(t.Context(), t, b, &stdio.Options{MaxRunning: running})
	for i := range requests {
		p.send(read(i, "docs://a"))
	}
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", requests-1))
	p.send(read(`"last"`, "docs://a")) // once it is in flight, the cancellation has been read
	close(gate)
	answered := map[string]bool{}
	for range requests {
		answered[idOf(p.next())] = true
	}
	if len(answered) != requests || answered[fmt.Sprint(requests-1)] {
		t.Errorf("%d answers, the cancelled one among them: %t; want %d without it", len(answered), answered[fmt.Sprint(requests-1)], requests)
	}
	if m := most.Load(); m > running {
		t.Errorf("%d requests were served at once, want at most %d", m, running)
	}
	p.in.Close()
	if err := <-p.done; err != nil {
		t.Error(err)
	}
}
