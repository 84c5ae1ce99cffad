package stdio_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/reshost/reshost/host/internal/mcp"
)

const legacyPing = `{"jsonrpc":"2.0","id":%d,"method":"ping"}` + "\n"

func initialize(revision string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":%q,"capabilities":{}}}`+"\n", revision)
}

// E2: what comes before initialize belongs to no session, and what comes after it does, however they are scheduled.
func TestInitializeIsOrdered(t *testing.T) {
	for range 50 {
		p := start(t.Context(), t, &backend{}, nil)
		got := make(chan map[string]string)
		go func() {
			answers := map[string]string{}
			for m := p.next(); m != ""; m = p.next() {
				answers[idOf(m)] = m
			}
			got <- answers
		}()
		p.send(fmt.Sprintf(legacyPing, 1) + fmt.Sprintf(legacyPing, 2) + initialize("2025-11-25") + fmt.Sprintf(legacyPing, 3))
		p.in.Close()
		answers := <-got
		for id, want := range map[string]string{"1": `"error"`, "2": `"error"`, `"i"`: `"result"`, "3": `"result"`} {
			if !strings.Contains(answers[id], want) {
				t.Fatalf("id %s: %q, want %s in it", id, answers[id], want)
			}
		}
		if err := <-p.done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
}

// While a batch is answered others are too, it can be cancelled request by request, and the end of the pipe ends it.
func TestBatch(t *testing.T) {
	started := make(chan bool)
	ctx, stop := context.WithCancel(t.Context())
	p := start(ctx, t, &backend{read: func(ctx context.Context, _ *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
		started <- true
		<-ctx.Done()
		return nil, ctx.Err()
	}}, nil)
	p.send(initialize("2025-03-26"))
	if got := p.next(); !strings.Contains(got, "2025-03-26") {
		t.Fatalf("got %s", got)
	}
	batch := func(ids ...int) {
		var list []string
		for _, id := range ids {
			list = append(list, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"docs://a"}}`, id))
		}
		p.send("[" + strings.Join(append(list, `{"jsonrpc":"2.0","id":9,"method":"ping"}`), ",") + "]\n")
		<-started
	}
	cancel := func(id int) {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", id))
	}
	batch(1, 2, 3)
	p.send(fmt.Sprintf(legacyPing, 7))
	if got := p.next(); idOf(got) != "7" {
		t.Errorf("got %s", got)
	}
	cancel(2) // before its turn
	cancel(1)
	<-started // the third
	cancel(3)
	if got := p.next(); got != `[{"jsonrpc":"2.0","id":9,"result":{}}]` {
		t.Errorf("got %s", got)
	}
	batch(1, 2)
	stop()
	if err := <-p.done; err != context.Canceled {
		t.Errorf("Serve: %v", err)
	}
	select {
	case <-started:
		t.Error("another call after the end")
	default:
	}
}
