// The goguest is what the tests meter as a Go program: each export is a pure
// function of its argument, so that metered and plain results can be compared.
package main

import (
	"hash/crc32"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

func main() {}

//go:wasmexport hot
func hot(n uint32) uint64 {
	x := uint64(1)
	for range n {
		x = x*6364136223846793005 + 1442695040888963407
		x ^= x >> 33
	}
	return x
}

//go:wasmexport fib
func fib(n uint32) uint32 {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

//go:wasmexport sorted
func sorted(n uint32) uint32 {
	s := make([]string, n)
	x := uint32(n)
	for i := range s {
		x = x*1664525 + 1013904223
		s[i] = strconv.Itoa(int(x))
	}
	sort.Strings(s)
	return crc32.ChecksumIEEE([]byte(strings.Join(s, ",")))
}

//go:wasmexport counted
func counted(n uint32) uint64 {
	m := map[string]int{}
	for i := range n {
		m[strconv.Itoa(int(i*i%97))] += int(i)
	}
	var sum uint64
	for k, v := range m {
		sum += uint64(len(k)) * uint64(v)
	}
	return sum
}

//go:wasmexport floats
func floats(n uint32) float64 {
	x := 0.5
	for i := range n {
		x = 3.7 * x * (1 - x) / (1 + 1/float64(i+1))
	}
	return x
}

//go:wasmexport text
func text(n uint32) uint32 {
	var b strings.Builder
	for i := range n {
		b.WriteRune(rune('a' + i%20000))
	}
	return uint32(utf8.RuneCountInString(strings.ToUpper(b.String())))
}

//go:wasmexport deep
func deep(n uint32) uint32 {
	if n == 0 {
		return 0
	}
	return 1 + deep(n-1)
}

//go:wasmexport caught
func caught(n uint32) (sum uint32) {
	for i := range n {
		func() {
			defer func() {
				if recover() != nil {
					sum += i
				}
			}()
			var p *uint32
			if i%3 == 0 {
				sum += *p
			}
		}()
	}
	return sum
}
