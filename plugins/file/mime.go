package main

import (
	"sort"
	"strings"
)

// maxExtension bounds the extension that is looked up, its dot included.
const maxExtension = 16

type typeEntry struct{ key, mime string }

// typeByName returns the media type of a file by its name alone, so that every host gives the same answer and so that
// a list and a read agree. The machine's own tables are never asked. Whole names ("Makefile") go before the part
// after the last dot, which is compared without case. An unknown name gives "": then no type is said, and whether
// the content is text is decided by the content, as for every file.
func typeByName(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	if t := lookUp(typesByWholeName[:], name); t != "" {
		return t
	}
	i := strings.LastIndexByte(name, '.')
	if i < 0 || len(name)-i > maxExtension {
		return ""
	}
	return lookUp(typesByExtension[:], lowerASCII(name[i+1:]))
}

func lookUp(table []typeEntry, key string) string {
	i := sort.Search(len(table), func(i int) bool { return table[i].key >= key })
	if i < len(table) && table[i].key == key {
		return table[i].mime
	}
	return ""
}

// lowerASCII returns s with A to Z in lower case; it allocates only if there are any.
func lowerASCII(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 'A' && s[i] <= 'Z' {
			return lowered(s)
		}
	}
	return s
}

func lowered(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + ('a' - 'A')
		}
	}
	return string(b)
}
