package host_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reshost/reshost/host"
)

// TestSoak holds idle subscriptions beside readers, one of whom never reads what it asked for. Every update reaches the streams that
// watch it meanwhile, and afterwards no goroutine, descriptor or memory is left. It is short here; `make soak` holds 1,000
// streams and 200 readers for a minute.
func TestSoak(t *testing.T) {
	streams, readers, lasts := 50, 10, time.Second
	if text := os.Getenv("RESHOST_SOAK"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		streams, readers, lasts = 1000, 200, d
	}
	p := memory(t)
	if err := p.SetText("long", "text/plain", strings.Repeat("long ", 1<<20)); err != nil {
		t.Fatal(err)
	}
	h, err := host.New(&host.Options{Limits: host.Limits{
		PrincipalSubscriptions: -1, PrincipalRequests: -1, WriteStall: max(time.Second, lasts/10),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.Add(p, nil)); err != nil {
		t.Fatal(err)
	}
	goroutines, files, memory := usage(t)

	server := httptest.NewServer(h.Handler())
	transport := &http.Transport{MaxIdleConnsPerHost: readers}
	s := soak{t: t, url: server.URL + "/mcp", client: &http.Client{Transport: transport}}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range streams {
		all.Go(func() { s.listen(ctx) })
	}
	s.wait("the streams are acknowledged", func() bool { return s.acknowledged.Load() == int64(streams) })
	stalled := s.stall()
	for range readers {
		all.Go(func() { s.read(ctx) })
	}
	for end, n := time.Now().Add(lasts), int64(0); time.Now().Before(end); {
		n++
		before := s.updates.Load()
		set(t, p, "a")
		s.wait("an update reaches all streams", func() bool { return s.updates.Load() >= before+int64(streams) })
	}
	if s.reads.Load() == 0 {
		t.Error("nobody could read")
	}
	t.Logf("%d streams, %d updates delivered, %d readers, %d reads", streams, s.updates.Load(), readers, s.reads.Load())

	cancel()
	stalled.Close()
	all.Wait()
	transport.CloseIdleConnections()
	server.Close()
	s.wait("nothing is left", func() bool {
		g, f, m := usage(t)
		return g <= goroutines && f <= files && m <= memory+32<<20
	})
	if err := h.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// usage counts this process's goroutines, open files (0 where the system does not tell) and bytes in use.
func usage(t *testing.T) (goroutines, files int, memory uint64) {
	t.Helper()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	entries, _ := os.ReadDir("/proc/self/fd") // there is none on other systems
	return runtime.NumGoroutine(), len(entries), m.HeapInuse
}

// soak is what the clients of TestSoak share.
type soak struct {
	t                            *testing.T
	url                          string
	client                       *http.Client
	acknowledged, updates, reads atomic.Int64
}

func (s *soak) wait(what string, done func() bool) {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("after 30 s it is not so that %s", what)
		}
	}
}

func (s *soak) send(ctx context.Context, method, name, params string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(message("1", method, params)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", method)
	if name != "" {
		r.Header.Set("Mcp-Name", name)
	}
	return s.client.Do(r)
}

// listen counts what a stream tells, until ctx ends.
func (s *soak) listen(ctx context.Context) {
	res, err := s.send(ctx, "subscriptions/listen", "", `"notifications":`+filterA)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		switch {
		case strings.Contains(lines.Text(), "/acknowledged"):
			s.acknowledged.Add(1)
		case strings.Contains(lines.Text(), "resources/updated"):
			s.updates.Add(1)
		}
	}
	if ctx.Err() == nil {
		s.t.Error("a stream ended")
	}
}

// read reads until ctx ends.
func (s *soak) read(ctx context.Context) {
	for ctx.Err() == nil {
		res, err := s.send(ctx, "resources/read", "docs://b", `"uri":"docs://b"`)
		if err == nil {
			_, err = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		switch {
		case err == nil && res.StatusCode == http.StatusOK:
			s.reads.Add(1)
		case ctx.Err() == nil:
			s.t.Errorf("read: %v", err)
			return
		}
	}
}

// stall asks for a long resource on a connection that is never read.
func (s *soak) stall() net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/mcp"))
	if err != nil {
		s.t.Fatal(err)
	}
	body := message("1", "resources/read", `"uri":"docs://long"`)
	r, err := http.NewRequest(http.MethodPost, s.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
		"Mcp-Method": "resources/read", "Mcp-Name": "docs://long",
	} {
		r.Header.Set(name, value)
	}
	if err := r.Write(conn); err != nil {
		s.t.Fatal(err)
	}
	return conn
}
