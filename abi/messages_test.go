package abi_test

import (
	"reflect"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reshost/reshost/abi"
)

// message is what every message of the ABI can do.
type message interface {
	Append(b []byte) []byte
	Decode(s string) error
}

// messages has an empty value of every message by its name in the .proto.
func messages() map[string]message {
	return map[string]message{
		"ReadRequest": &abi.ReadRequest{}, "ListRequest": &abi.ListRequest{}, "CompleteRequest": &abi.CompleteRequest{},
		"PollRequest": &abi.PollRequest{}, "InitRequest": &abi.InitRequest{},
		"Resource": &abi.Resource{}, "Cursor": &abi.Cursor{}, "Content": &abi.Content{}, "Value": &abi.Value{},
		"Error": &abi.Error{}, "Input": &abi.Input{}, "State": &abi.State{}, "Updated": &abi.Updated{},
		"Info": &abi.Info{}, "Progress": &abi.Progress{},
		"Entry": &abi.Entry{}, "HTTPRequest": &abi.HTTPRequest{}, "HTTPResponse": &abi.HTTPResponse{},
		"SQLQuery": &abi.SQLQuery{}, "SQLColumns": &abi.SQLColumns{}, "SQLRow": &abi.SQLRow{},
	}
}

// empty returns a new zero message of m's type.
func empty(m message) message {
	return reflect.New(reflect.TypeOf(m).Elem()).Interface().(message)
}

// fill sets every field to a value of its own. Lists get two elements, the first of them empty: absence and emptiness differ.
func fill(m message) message {
	n := 0
	fillValue(reflect.ValueOf(m).Elem(), &n)
	return m
}

func fillValue(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillValue(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fillValue(v.Index(1), n)
	case reflect.String:
		v.SetString("value " + strconv.Itoa(*n))
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.SetUint(uint64(*n) << (*n % 50))
	}
}

func TestRoundTrip(t *testing.T) {
	for name, m := range messages() {
		t.Run(name, func(t *testing.T) {
			want := fill(m)
			b := want.Append([]byte("kept"))
			if string(b[:4]) != "kept" {
				t.Errorf("Append wrote over the buffer: %q", b[:4])
			}
			got := empty(m)
			if err := got.Decode(string(b[4:])); err != nil {
				t.Fatalf("Decode: %v", err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("Decode(Append) (-want +got):\n%s", d)
			}
			// A message decoded into one that held another has nothing left of it.
			if err := got.Decode(""); err != nil {
				t.Fatalf("Decode of nothing: %v", err)
			}
			if d := cmp.Diff(empty(m), got, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("Decode of nothing leaves (-want +got):\n%s", d)
			}
		})
	}
}

func TestZeroIsEmpty(t *testing.T) {
	for name, m := range messages() {
		if b := m.Append(nil); len(b) != 0 {
			t.Errorf("%s: the zero value encodes as %x, want nothing", name, b)
		}
	}
}

// TestBytes pins the encoding itself, as a C encoder would write it.
func TestBytes(t *testing.T) {
	tests := []struct {
		name string
		msg  message
		want string
	}{
		{"text part", &abi.Content{MIMEType: "text/plain", Text: true}, "\x12\x0atext/plain\x18\x01"},
		{"ttl of zero is present", &abi.Content{TTLMillis: abi.Some(0)}, "\x38\x01"},
		{"varint of two bytes", &abi.Progress{Done: 300}, "\x08\xac\x02"},
		{"empty elements are written", &abi.ReadRequest{Vars: []abi.Var{{Name: "a"}}}, "\x1a\x01a\x22\x00"},
		{"field above fifteen", &abi.InitRequest{Pack: true}, "\xa0\x01\x01"},
		{"null cell", &abi.SQLRow{Values: []abi.SQLValue{{Kind: abi.SQLNull}}}, "\x08\x00\x12\x00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(tt.msg.Append(nil)); got != tt.want {
				t.Errorf("Append = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	many := make([]byte, 0, 3*(abi.MaxRepeated+1))
	for range abi.MaxRepeated + 1 {
		many = append(many, 0x0a, 0)
	}
	tests := []struct {
		name string
		into message
		in   string
		want message
		err  error
	}{
		{"unknown varint and bytes are skipped", &abi.Cursor{}, "\x78\x05\x0a\x01x\x7a\x02zz", &abi.Cursor{Next: "x"}, nil},
		{"the last of two counts", &abi.Cursor{}, "\x0a\x01x\x0a\x01y", &abi.Cursor{Next: "y"}, nil},
		{
			"paired lists may come one after the other", &abi.ReadRequest{}, "\x1a\x01a\x1a\x01b\x22\x011\x22\x012",
			&abi.ReadRequest{Vars: []abi.Var{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}}}, nil,
		},
		{"any number but zero is true", &abi.Content{}, "\x18\x07", &abi.Content{Text: true}, nil},
		{"greatest number", &abi.Progress{}, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", &abi.Progress{Done: 1<<64 - 1}, nil},
		{"a longer form of a number", &abi.Progress{}, "\x08\x85\x80\x00", &abi.Progress{Done: 5}, nil},
		{"number of more than 64 bits", &abi.Progress{}, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", nil, abi.ErrMalformed},
		{"number without end", &abi.Progress{}, "\x08\x80", nil, abi.ErrMalformed},
		{"number of eleven bytes", &abi.Progress{}, "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", nil, abi.ErrMalformed},
		{"length past the end", &abi.Cursor{}, "\x0a\x02x", nil, abi.ErrMalformed},
		{"length that overflows", &abi.Cursor{}, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", nil, abi.ErrMalformed},
		{"tag alone", &abi.Cursor{}, "\x0a", nil, abi.ErrMalformed},
		{"field zero", &abi.Cursor{}, "\x02\x00", nil, abi.ErrMalformed},
		{"field number too great", &abi.Cursor{}, "\x80\x80\x80\x80\x10\x00", nil, abi.ErrMalformed},
		{"fixed64", &abi.Cursor{}, "\x7912345678", nil, abi.ErrMalformed},
		{"group", &abi.Cursor{}, "\x0b", nil, abi.ErrMalformed},
		{"number where bytes are due", &abi.Cursor{}, "\x08\x01", nil, abi.ErrMalformed},
		{"bytes where a number is due", &abi.Progress{}, "\x0a\x00", nil, abi.ErrMalformed},
		{"name without value", &abi.ReadRequest{}, "\x1a\x01a", nil, abi.ErrPairs},
		{"value without name", &abi.PollRequest{}, "\xb2\x01\x01a", nil, abi.ErrPairs},
		{"key without answer", &abi.ReadRequest{}, "\x32\x01a", nil, abi.ErrPairs},
		{"kind without cell", &abi.SQLRow{}, "\x08\x01", nil, abi.ErrPairs},
		{"too many URIs", &abi.PollRequest{}, string(many), nil, abi.ErrTooMany},
		{"too many names", &abi.SQLColumns{}, string(many), nil, abi.ErrTooMany},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.into.Decode(tt.in)
			if err != tt.err {
				t.Fatalf("Decode = %v, want %v", err, tt.err)
			}
			if err != nil {
				return
			}
			if d := cmp.Diff(tt.want, tt.into, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("Decode (-want +got):\n%s", d)
			}
		})
	}
}

// TestDecodeReuses proves that a message can be decoded into again and again, and that an earlier, longer list leaves
// nothing behind.
func TestDecodeReuses(t *testing.T) {
	long := (&abi.ReadRequest{Vars: []abi.Var{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}}}).Append(nil)
	short := (&abi.ReadRequest{Vars: []abi.Var{{Name: "c"}}}).Append(nil)
	var m abi.ReadRequest
	for range 2 {
		if err := m.Decode(string(long)); err != nil {
			t.Fatal(err)
		}
		if err := m.Decode(string(short)); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]abi.Var{{Name: "c"}}, m.Vars); d != "" {
			t.Errorf("Vars (-want +got):\n%s", d)
		}
	}
}

func TestEntries(t *testing.T) {
	want := []abi.Entry{
		{Name: "a.md", Kind: abi.EntryFile, Size: 1 << 40, MTimeNanos: 1_700_000_000_000_000_000, Version: "v1"},
		{},
		{Name: "sub", Kind: abi.EntryFolder},
		*fill(&abi.Entry{}).(*abi.Entry),
	}
	var b []byte
	for i := range want {
		b = want[i].AppendPrefixed(b)
	}
	rest := string(b)
	for i := range want {
		var got abi.Entry
		var err error
		if got, rest, err = abi.TakeEntry(rest); err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
		if got != want[i] {
			t.Errorf("entry %d = %+v, want %+v", i, got, want[i])
		}
	}
	if rest != "" {
		t.Errorf("%d bytes left", len(rest))
	}
	for _, in := range []string{"", "\x80", "\x05abc", "\x01\x08"} {
		if _, _, err := abi.TakeEntry(in); err != abi.ErrMalformed {
			t.Errorf("TakeEntry(%q) = %v, want %v", in, err, abi.ErrMalformed)
		}
	}
}

func TestOptional(t *testing.T) {
	var none abi.Optional
	if _, ok := none.Get(); ok {
		t.Error("the zero value is present")
	}
	for _, v := range []uint64{0, 1, 1<<64 - 2} {
		if got, ok := abi.Some(v).Get(); !ok || got != v {
			t.Errorf("Some(%d).Get() = %d, %v", v, got, ok)
		}
	}
	if _, ok := abi.Some(1<<64 - 1).Get(); ok {
		t.Error("the number that does not fit is present")
	}
}

func TestNames(t *testing.T) {
	if got := abi.StatusNotModified.String(); got != "not_modified" {
		t.Errorf("StatusNotModified = %q", got)
	}
	for _, s := range []abi.Status{-1, 10, 1 << 30} {
		if got := s.String(); got != "internal" {
			t.Errorf("Status(%d) = %q, want internal", s, got)
		}
	}
	for _, k := range []abi.Kind{-1, 0, 2, 14, 1 << 30} {
		if got := k.String(); got != "" {
			t.Errorf("Kind(%d) = %q, want none", k, got)
		}
		if k.Legal(abi.ExportRead) {
			t.Errorf("Kind(%d) is legal", k)
		}
	}
}

func TestLegal(t *testing.T) {
	const (
		read, list, complete = abi.ExportRead, abi.ExportList, abi.ExportComplete
		poll, describe, init = abi.ExportPoll, abi.ExportDescribe, abi.ExportInit
	)
	want := map[abi.Kind][]string{
		abi.KindResource:    {list},
		abi.KindCursor:      {list},
		abi.KindContent:     {read},
		abi.KindValue:       {complete},
		abi.KindError:       {read, list, complete, init},
		abi.KindInput:       {read},
		abi.KindState:       {read, poll},
		abi.KindUpdated:     {read, list, complete, poll},
		abi.KindListChanged: {read, list, complete, poll},
		abi.KindInfo:        {list, complete, poll},
		abi.KindManifest:    {describe},
		abi.KindProgress:    {read},
	}
	for k, exports := range want {
		for _, e := range []string{read, list, complete, poll, describe, init, "other"} {
			legal := false
			for _, w := range exports {
				legal = legal || w == e
			}
			if got := k.Legal(e); got != legal {
				t.Errorf("%s.Legal(%s) = %v, want %v", k, e, got, legal)
			}
		}
	}
}

func TestCapabilityModule(t *testing.T) {
	for name, module := range map[string]string{
		abi.CapabilityConfig: abi.ModuleConfig, abi.CapabilityFS: abi.ModuleFS, abi.CapabilityHTTP: abi.ModuleHTTP,
		abi.CapabilityKV: abi.ModuleKV, abi.CapabilitySQL: abi.ModuleSQL,
	} {
		if got := abi.CapabilityModule(name); got != module {
			t.Errorf("CapabilityModule(%q) = %q, want %q", name, got, module)
		}
	}
}
