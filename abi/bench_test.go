package abi_test

import (
	"testing"

	"github.com/reshost/reshost/abi"
)

func smallRead() *abi.ReadRequest {
	return &abi.ReadRequest{
		Common:        abi.Common{DeadlineMillis: 10_000, NowMillis: 1_780_000_000_000},
		URI:           "docs://guide/install.md",
		TemplateIndex: 1, URITemplate: "docs://{name}", MaxBytes: 16 << 20,
		Vars: []abi.Var{{Name: "name", Value: "guide/install.md"}},
	}
}

// TestNoAllocations holds every encoder to no allocation with room in the buffer, and a decoder to none that reuses its
// message.
func TestNoAllocations(t *testing.T) {
	for name, m := range messages() {
		fill(m)
		buf := make([]byte, 0, 4096)
		if n := testing.AllocsPerRun(100, func() { buf = m.Append(buf[:0]) }); n != 0 {
			t.Errorf("%s.Append allocates %v times", name, n)
		}
		encoded := string(buf)
		into := empty(m)
		if err := into.Decode(encoded); err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() { _ = into.Decode(encoded) }); n != 0 {
			t.Errorf("%s.Decode allocates %v times", name, n)
		}
	}
}

func BenchmarkReadRequestAppend(b *testing.B) {
	m := smallRead()
	buf := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		buf = m.Append(buf[:0])
	}
}

func BenchmarkReadRequestDecode(b *testing.B) {
	s := string(smallRead().Append(nil))
	var m abi.ReadRequest
	b.ReportAllocs()
	for b.Loop() {
		if err := m.Decode(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkContentAppend(b *testing.B) {
	m := abi.Content{MIMEType: "text/markdown", Text: true, SizeHint: 4096, ETag: "v1", TTLMillis: abi.Some(30_000)}
	buf := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		buf = m.Append(buf[:0])
	}
}

func BenchmarkContentDecode(b *testing.B) {
	m := abi.Content{MIMEType: "text/markdown", Text: true, SizeHint: 4096, ETag: "v1", TTLMillis: abi.Some(30_000)}
	s := string(m.Append(nil))
	b.ReportAllocs()
	for b.Loop() {
		if err := m.Decode(s); err != nil {
			b.Fatal(err)
		}
	}
}
