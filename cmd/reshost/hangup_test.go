//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestServeTLSReload replaces the certificate of a server under load, again and again: no request fails, new connections see
// the new certificate, old ones go on, and files that cannot be used change nothing.
func TestServeTLSReload(t *testing.T) {
	// Should the server not catch the signal, the test fails instead of ending the process.
	caught := make(chan os.Signal, 100)
	signal.Notify(caught, syscall.SIGHUP)
	defer signal.Stop(caught)

	a := newAuthority(t)
	s, put := serveTLS(t, a)
	kept := a.client(true, true, 0)
	first := serialOf(t, s, kept)

	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	var requests atomic.Int64
	for i := range 4 {
		// Half of them connect anew for each request.
		client := a.client(i%2 == 0, i < 2, 0)
		load.Go(func() {
			for ctx.Err() == nil {
				res, err := client.Do(s.request("resources/list", ""))
				if err != nil {
					t.Errorf("while certificates change: %v", err)
					return
				}
				_, err = io.Copy(io.Discard, res.Body)
				res.Body.Close()
				if err != nil || res.StatusCode != http.StatusOK {
					t.Errorf("while certificates change: %s, %v", res.Status, err)
				}
				requests.Add(1)
			}
		})
	}
	for range 10 {
		next := a.issue()
		put(next)
		hangup(t)
		waitFor(t, s, fmt.Sprintf("certificate %d", next.serial), func() bool { return serialOf(t, s, a.client(false, true, 0)) == next.serial })
	}
	last := a.last
	put(pair{cert: a.issue().cert, key: []byte("no key")})
	hangup(t)
	waitFor(t, s, "the warning", func() bool { return strings.Contains(s.stderr.String(), "the certificate in use is kept") })
	if got := serialOf(t, s, a.client(false, true, 0)); got != last {
		t.Errorf("certificate %d after bad files, want %d", got, last)
	}
	stop()
	load.Wait()
	if got := serialOf(t, s, kept); got != first {
		t.Errorf("the first connection is at certificate %d, want %d still", got, first)
	}
	if requests.Load() == 0 {
		t.Error("no request was made meanwhile")
	}
	if code := s.end(); code != exitOK {
		t.Errorf("exit code %d:\n%s", code, s.stderr)
	}
}

func hangup(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

// serialOf returns the serial number of the certificate on the connection that answers.
func serialOf(t *testing.T, s *server, client *http.Client) int64 {
	t.Helper()
	res, err := client.Do(s.request("resources/list", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	io.Copy(io.Discard, res.Body)
	return res.TLS.PeerCertificates[0].SerialNumber.Int64()
}

// waitFor waits until done holds.
func waitFor(t *testing.T, s *server, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not come; the server says:\n%s", what, s.stderr)
		}
	}
}
