package wasmplugin

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reshost/reshost/host/provider"
)

// here compiles in this process.
func here(ctx context.Context, job *CompileJob) error { return CompileModule(ctx, job.Dir, job.Wasm) }

// bubbleRuntime is a runtime within a bubble of synctest: nothing of it may live outside.
func bubbleRuntime(t *testing.T, compiler compilerFunc) *Runtime {
	t.Helper()
	r, err := NewRuntime(t.Context(), &Options{Compiler: compiler, CompileJobs: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

// listEvents counts changes of the list.
type listEvents struct{ n int }

func (*listEvents) Updated(string) {}
func (e *listEvents) ListChanged() { e.n++ }

// TestWhileItIsPrepared: the manifest answers, lists do not wait, reads do, and the list is reported as changed afterwards.
func TestWhileItIsPrepared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := make(chan struct{})
		r := bubbleRuntime(t, func(ctx context.Context, job *CompileJob) error {
			<-begin
			return here(ctx, job)
		})
		g := newGuest(strings.Replace(letters, `"resources"`, `"list":true,"resources"`, 1))
		g.exported("rh_list", ok())
		p, err := r.Open(t.Context(), &Config{Wasm: g.read(g.text("good"), ok()).bytes()})
		if err != nil {
			t.Fatal(err)
		}
		second, err := r.Open(t.Context(), &Config{Name: "second", Wasm: guestNamed(2)})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(p.Info().Resources); n != 1 {
			t.Errorf("%d resources", n)
		}
		events := &listEvents{}
		p.Attach(events)
		synctest.Wait()
		var states []string
		for _, s := range r.Status() {
			states = append(states, s.Name+" "+string(s.State))
		}
		// Which of the two is compiled first is not settled.
		if got := strings.Join(states, ", "); got != "letters compiling, second waiting" && got != "letters waiting, second compiling" {
			t.Errorf("states: %s", got)
		}
		if e := wantCode(t, second1(p.List(t.Context(), &provider.ListRequest{PageSize: 10})), provider.Unavailable); e.RetryAfter <= 0 {
			t.Errorf("retry after %s", e.RetryAfter)
		}
		var wg sync.WaitGroup
		wg.Go(func() { mustRead(t, p) })
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = readURI(short, p, "letters://a")
		wantCode(t, err, provider.Unavailable)
		left, leave := context.WithCancel(t.Context())
		leave()
		_, err = readURI(left, p, "letters://a")
		wantCode(t, err, provider.Canceled)
		close(begin)
		wg.Wait()
		if err := errors.Join(p.Ready(t.Context()), second.Ready(t.Context())); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if s := p.Status(); s.State != StateReady || !s.Available() || s.Reason != "" || events.n != 1 {
			t.Errorf("status %+v, %d changes of the list", s, events.n)
		}
		if _, err := p.List(t.Context(), &provider.ListRequest{PageSize: 10}); err != nil {
			t.Error(err)
		}
	})
}

func second1[T any](_ T, err error) error { return err }

// TestFailedPluginIsTriedAgain: with growing pauses, and at once where somebody asks for it.
func TestFailedPluginIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts atomic.Int32
		var good atomic.Bool
		r := bubbleRuntime(t, func(ctx context.Context, job *CompileJob) error {
			attempts.Add(1)
			if good.Load() {
				return here(ctx, job)
			}
			return errors.New("not today")
		})
		p, err := r.Open(t.Context(), &Config{Name: "p", Wasm: plain()})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Ready(t.Context()); err == nil || err.Error() != "not today" {
			t.Errorf("ready: %v", err)
		}
		s := p.Status()
		if s.State != StateFailed || s.Available() || s.Reason != "not today" || !s.RetryAt.After(time.Now()) {
			t.Errorf("status %+v", s)
		}
		_, err = readURI(t.Context(), p, "letters://a")
		e := wantCode(t, err, provider.Unavailable)
		if left := time.Until(s.RetryAt); e.RetryAfter != left || strings.Contains(e.Message, "today") {
			t.Errorf("retry after %s, want %s; message %q", e.RetryAfter, left, e.Message)
		}
		time.Sleep(10 * time.Minute)
		if n := attempts.Load(); n != 4 { // after 1, 2 and 4 minutes, a tenth more or less
			t.Errorf("%d attempts", n)
		}
		good.Store(true)
		p.Retry()
		if err := p.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.Retry() // of a plugin that is ready
		mustRead(t, p)
		synctest.Wait()
		if n := attempts.Load(); n != 5 {
			t.Errorf("%d attempts", n)
		}
	})
}

// TestStartIsTriedAgain: a guest that refuses to start is not compiled again.
func TestStartIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var compiled atomic.Int32
		r := bubbleRuntime(t, func(ctx context.Context, job *CompileJob) error {
			compiled.Add(1)
			return here(ctx, job)
		})
		g := newGuest(letters)
		g.exported("rh_init", i32c(4))
		p, err := r.Open(t.Context(), &Config{Wasm: g.read(ok()).bytes()})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if s := p.Status(); s.State != StateFailed || !strings.Contains(s.Reason, "rh_init failed (unavailable)") {
			t.Errorf("status %+v", s)
		}
		if n := compiled.Load(); n != 1 {
			t.Errorf("compiled %d times", n)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if used := r.memory.used.Load(); used != 0 || len(r.code.entries) != 0 {
			t.Errorf("left over: %d bytes, %d entries", used, len(r.code.entries))
		}
	})
}

// TestCloseWhileItIsPrepared ends the compilation and those who wait.
func TestCloseWhileItIsPrepared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bubbleRuntime(t, func(ctx context.Context, _ *CompileJob) error {
			<-ctx.Done()
			return ctx.Err()
		})
		p, err := r.Open(t.Context(), &Config{Wasm: plain()})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := readURI(t.Context(), p, "letters://a"); provider.CodeOf(err) != provider.Unavailable {
				t.Errorf("error %v", err)
			}
		})
		synctest.Wait()
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if err := p.Ready(t.Context()); err == nil {
			t.Error("a closed plugin is ready")
		}
	})
}
