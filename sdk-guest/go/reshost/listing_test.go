package reshost

import (
	"testing"

	"github.com/reshost/reshost/abi"
)

// listHost lists entries that it has encoded.
type listHost struct {
	NativeHost
	entries []byte
}

func (h *listHost) FSList(_, _ string, buf []byte) int {
	if len(buf) >= len(h.entries) {
		copy(buf, h.entries)
	}
	return len(h.entries)
}

func TestListInto(t *testing.T) {
	h := &listHost{}
	for _, e := range []abi.Entry{{Name: "a", Kind: abi.EntryFile, Size: 7, MTimeNanos: 5e6}, {Name: "b", Kind: abi.EntryFolder}} {
		h.entries = e.AppendPrefixed(h.entries)
	}
	fs := FS{NewInstance(&Plugin{}, h)}
	buf := make([]byte, 1)
	var info FileInfo
	list := func() (names string) {
		l, err := fs.ListInto(&buf, "main", "")
		if err != nil {
			t.Fatal(err)
		}
		for {
			ok, err := l.Next(&info)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				return names
			}
			names += info.Name
		}
	}
	if got := list(); got != "ab" || !info.Dir {
		t.Errorf("listed %q, the last a folder = %t", got, info.Dir)
	}
	if n := testing.AllocsPerRun(10, func() {
		l, _ := fs.ListInto(&buf, "main", "")
		for ok := true; ok; {
			ok, _ = l.Next(&info)
		}
	}); n != 0 {
		t.Errorf("%v allocations with a buffer that is large enough, want none", n)
	}
	h.entries = append(h.entries, 9)
	l, err := fs.ListInto(&buf, "main", "")
	for ok := true; ok && err == nil; {
		ok, err = l.Next(&info)
	}
	if err == nil {
		t.Error("a malformed entry was taken")
	}
}
