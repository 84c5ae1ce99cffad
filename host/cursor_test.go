package host

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/host/provider"
)

func TestCursorRoundTrip(t *testing.T) {
	tests := []cursor{
		{provider: "a"},
		{provider: "a", offset: 7, public: true},
		{provider: "a", guest: true},
		{provider: "a", guest: true, token: []byte{}},
		{provider: strings.Repeat("p", 64), guest: true, token: bytes.Repeat([]byte{0xff}, maxToken), offset: maxOffset, pages: maxListPages},
	}
	h, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.Background())
	c := newCaller(nil, "", nil)
	for _, want := range tests {
		text, err := h.sealCursor("m", c, &want)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > maxCursor {
			t.Errorf("a cursor of %d bytes would be refused: the most is %d", len(text), maxCursor)
		}
		got, err := h.openCursor("m", c, text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got, cmp.AllowUnexported(cursor{})); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if again, _ := h.sealCursor("m", c, &want); again == text {
			t.Error("one cursor twice: clients could tell equal places")
		}
		if len(want.token) > 32 && strings.Contains(text, "cHBwcHBw") {
			t.Error("it can be read")
		}
	}
}

// FuzzDecodeCursor looks behind the seal: what one of the operator's keys sealed may be from another version of the program.
func FuzzDecodeCursor(f *testing.F) {
	for _, c := range []cursor{{provider: "a"}, {provider: "bc", guest: true, token: []byte("x"), offset: 300, pages: 2, public: true}} {
		f.Add(c.encode())
	}
	f.Add([]byte{1, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decodeCursor(b)
		if err != nil {
			return
		}
		if c.offset < 0 || c.pages < 0 {
			t.Errorf("negative: %+v", c)
		}
		again, err := decodeCursor(c.encode())
		if err != nil || !cmp.Equal(c, again, cmp.AllowUnexported(cursor{})) {
			t.Errorf("%+v became %+v, %v", c, again, err)
		}
	})
}

// FuzzOpenCursor gives the host what a client may send: nothing but what it minted is a cursor.
func FuzzOpenCursor(f *testing.F) {
	h, err := New(&Options{Keys: [][]byte{bytes.Repeat([]byte("k"), 32)}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { h.Close(context.Background()) })
	c := newCaller(&Principal{Issuer: "i", Subject: "s"}, "", nil)
	want := cursor{provider: "a", offset: 1}
	minted, err := h.sealCursor("m", c, &want) // another text in each process, which all share the key
	if err != nil {
		f.Fatal(err)
	}
	f.Add(minted)
	f.Add("")
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := h.openCursor("m", c, text)
		if err == nil && !cmp.Equal(&want, got, cmp.AllowUnexported(cursor{})) {
			t.Errorf("%q opens as %+v", text, got)
		}
		if err != nil && provider.CodeOf(err) != provider.Invalid {
			t.Errorf("code %v, want invalid", provider.CodeOf(err))
		}
	})
}

// A cursor has one spelling: any other is none, although a lax decoder would read the same bytes.
func TestCursorSpelling(t *testing.T) {
	h, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.Background())
	c := newCaller(nil, "", nil)
	// Of four lengths in a row one at least leaves bits of the last letter unused.
	for n := range 4 {
		text, err := h.sealCursor("m", c, &cursor{provider: strings.Repeat("p", n+1)})
		if err != nil {
			t.Fatal(err)
		}
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		other := []string{text + "\n", text + "\r\n", text[:9] + "\n" + text[9:], "\r" + text, text + "=", text + " ", text + "A"}
		for _, last := range alphabet {
			if s := text[:len(text)-1] + string(last); s != text {
				other = append(other, s)
			}
		}
		for _, s := range other {
			if _, err := h.openCursor("m", c, s); provider.CodeOf(err) != provider.Invalid {
				t.Errorf("%q is taken for %q: %v", s, text, err)
			}
		}
	}
}

func TestLimitsDefaults(t *testing.T) {
	if got := (Limits{}).withDefaults(); got.ReadBytes != 16<<20 || got.Requests != 1024 || got.PrincipalRequests != 64 || got.URIBytes != 8<<10 {
		t.Errorf("%+v", got)
	}
	if got := (Limits{ReadItems: -1, URIBytes: -1, Call: 5}).withDefaults(); got.ReadItems < 1<<30 || got.URIBytes != maxURIBytes || got.Call != 5 {
		t.Errorf("%+v", got)
	}
}

func TestGate(t *testing.T) {
	g := newGate()
	for range 2 {
		if !g.enter() {
			t.Fatal("an open gate refuses")
		}
	}
	g.leave()
	g.shut()
	if g.enter() {
		t.Error("a shut gate lets in")
	}
	select {
	case <-g.idle:
		t.Error("idle with one inside")
	default:
	}
	g.leave()
	<-g.idle
	if g.enter() {
		t.Error("a shut gate lets in")
	}
}
