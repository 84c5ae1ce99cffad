package httpd_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/reshost/reshost/host/internal/httpd"
	"github.com/reshost/reshost/host/internal/mcp"
)

// BenchmarkRead measures the whole server side of a read over a connection in memory, beside a bare handler that reads as much
// and writes the same bytes. The client writes a prepared request and discards the answer, so that it costs next to
// nothing. The goal is at most 40 allocations above the bare handler.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{100, 1 << 20} {
		res := text("docs://a", strings.Repeat("x", size))
		h := httpd.New(server(&backend{read: func(context.Context, *mcp.Caller, *mcp.ReadParams) (*mcp.ReadResult, error) {
			return res, nil
		}}), nil)
		want := serve(h, readRequest()).Body.Bytes()
		bare := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			w.Write(want)
		})
		b.Run(fmt.Sprintf("bare/%d", size), func(b *testing.B) { benchmark(b, bare, len(want)) })
		b.Run(fmt.Sprintf("httpd/%d", size), func(b *testing.B) { benchmark(b, h, len(want)) })
	}
}

func benchmark(b *testing.B, h http.Handler, size int) {
	_, n, stop := start(b, h, false)
	defer stop()
	conn, err := n.dial(b.Context(), "", "")
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	body := readBody("1", "docs://a")
	var raw bytes.Buffer
	r, _ := http.NewRequest("POST", "http://localhost/mcp", strings.NewReader(body))
	setHeaders(r.Header, "docs://a")
	r.Write(&raw)
	in := bufio.NewReaderSize(conn, 64<<10)
	b.ReportAllocs()
	b.SetBytes(int64(size))
	for b.Loop() {
		if err := roundTrip(conn, in, raw.Bytes(), size); err != nil {
			b.Fatal(err)
		}
	}
}

// roundTrip sends a request and reads its answer without allocating.
func roundTrip(conn net.Conn, in *bufio.Reader, request []byte, size int) error {
	if _, err := conn.Write(request); err != nil {
		return err
	}
	chunked := false
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if bytes.HasPrefix(line, []byte("Transfer-Encoding")) {
			chunked = true
		}
		if len(line) == 2 {
			break
		}
	}
	if !chunked {
		_, err := in.Discard(size)
		return err
	}
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		n := 0
		for _, c := range bytes.TrimSpace(line) {
			d := bytes.IndexByte([]byte("0123456789abcdef"), c)
			n = n*16 + d
		}
		if _, err := in.Discard(n + 2); err != nil || n == 0 {
			return err
		}
	}
}
