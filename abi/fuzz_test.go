package abi_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reshost/reshost/abi"
)

// fuzz holds a decoder to this: it never panics, and what it accepts encodes to something that decodes to the same.
func fuzz(f *testing.F, m message) {
	f.Add(fill(m).Append(nil))
	for _, other := range messages() {
		f.Add(fill(other).Append(nil))
	}
	for _, s := range []string{
		"", "\x00", "\x08\x01", "\x0a\x00", "\x0a\x05x", "\x0d1234", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
		"\x1a\x01a\x22\x00", "\x22\x00\x1a\x01a", "\x1a\x00\x1a\x00\x22\x00", "\xff\xff\xff\xff\x0f\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		first := empty(m)
		if first.Decode(string(b)) != nil {
			return
		}
		again := empty(m)
		if err := again.Decode(string(first.Append(nil))); err != nil {
			t.Fatalf("what %T accepted it does not accept again: %v", m, err)
		}
		if d := cmp.Diff(first, again, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%T (-first +again):\n%s", m, d)
		}
	})
}

func FuzzReadRequest(f *testing.F)     { fuzz(f, &abi.ReadRequest{}) }
func FuzzListRequest(f *testing.F)     { fuzz(f, &abi.ListRequest{}) }
func FuzzCompleteRequest(f *testing.F) { fuzz(f, &abi.CompleteRequest{}) }
func FuzzPollRequest(f *testing.F)     { fuzz(f, &abi.PollRequest{}) }
func FuzzInitRequest(f *testing.F)     { fuzz(f, &abi.InitRequest{}) }
func FuzzResource(f *testing.F)        { fuzz(f, &abi.Resource{}) }
func FuzzCursor(f *testing.F)          { fuzz(f, &abi.Cursor{}) }
func FuzzContent(f *testing.F)         { fuzz(f, &abi.Content{}) }
func FuzzValue(f *testing.F)           { fuzz(f, &abi.Value{}) }
func FuzzError(f *testing.F)           { fuzz(f, &abi.Error{}) }
func FuzzInput(f *testing.F)           { fuzz(f, &abi.Input{}) }
func FuzzState(f *testing.F)           { fuzz(f, &abi.State{}) }
func FuzzUpdated(f *testing.F)         { fuzz(f, &abi.Updated{}) }
func FuzzInfo(f *testing.F)            { fuzz(f, &abi.Info{}) }
func FuzzProgress(f *testing.F)        { fuzz(f, &abi.Progress{}) }
func FuzzEntry(f *testing.F)           { fuzz(f, &abi.Entry{}) }
func FuzzHTTPRequest(f *testing.F)     { fuzz(f, &abi.HTTPRequest{}) }
func FuzzHTTPResponse(f *testing.F)    { fuzz(f, &abi.HTTPResponse{}) }
func FuzzSQLQuery(f *testing.F)        { fuzz(f, &abi.SQLQuery{}) }
func FuzzSQLColumns(f *testing.F)      { fuzz(f, &abi.SQLColumns{}) }
func FuzzSQLRow(f *testing.F)          { fuzz(f, &abi.SQLRow{}) }

// FuzzTakeEntry holds the answer of fs.list to the same, and to an end: each step takes at least a byte.
func FuzzTakeEntry(f *testing.F) {
	e := fill(&abi.Entry{}).(*abi.Entry)
	f.Add(e.AppendPrefixed(nil))
	f.Add(e.AppendPrefixed((&abi.Entry{}).AppendPrefixed(nil)))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for rest := string(b); rest != ""; {
			m, next, err := abi.TakeEntry(rest)
			if err != nil {
				return
			}
			if len(next) >= len(rest) {
				t.Fatalf("TakeEntry took nothing of %d bytes", len(rest))
			}
			again, left, err := abi.TakeEntry(string(m.AppendPrefixed(nil)))
			if err != nil || left != "" || again != m {
				t.Fatalf("entry %+v becomes %+v, %q left, %v", m, again, left, err)
			}
			rest = next
		}
	})
}
