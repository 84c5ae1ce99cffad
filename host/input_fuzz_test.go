package host

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/internal/question"
	"github.com/reshost/reshost/host/provider"
)

// FuzzOpenState gives the host what a client may send as requestState: nothing but what it minted is one. What is sealed may be from
// another version of the program, so the bytes behind the seal are fuzzed too.
func FuzzOpenState(f *testing.F) {
	h, err := New(&Options{Keys: [][]byte{bytes.Repeat([]byte("k"), 32)}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { h.Close(context.Background()) })
	j := &readJob{Host: h, caller: newCaller(&Principal{Issuer: "i", Subject: "s"}, "", nil), req: &mcp.ReadParams{}}
	j.route.uri, j.route.view = "docs://a", &view{unit: &unit{name: "docs"}}
	want, now := []byte("state"), time.UnixMilli(1_000_000)
	minted, err := j.sealState(want, now) // another text in each process, which all share the key
	if err != nil {
		f.Fatal(err)
	}
	if most, err := j.sealState(make([]byte, question.MaxState), now); err != nil || len(most) > maxSealedState {
		f.Fatalf("the largest state is refused: %d bytes, %v", len(most), err)
	}
	f.Add(minted, []byte{stateVersion, 1, 'x'})
	f.Add("", []byte{})
	f.Add("AAAA", []byte{stateVersion})
	f.Add("", []byte{stateVersion, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, text string, plain []byte) {
		if got, err := j.openState(text, now); err == nil && !bytes.Equal(got, want) {
			t.Errorf("%q opens as %q", text, got)
		}
		use, err := j.stateUse()
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := h.seal.seal(plain, use)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := j.openState(sealed, now); err == nil && !bytes.HasSuffix(plain, got) {
			t.Errorf("%x opens as %x", plain, got)
		}
		j.req.State = []byte(text)
		if err := j.openRetry(); err != nil && provider.CodeOf(err) != provider.Invalid {
			t.Errorf("code %v, want invalid", provider.CodeOf(err))
		}
	})
}
