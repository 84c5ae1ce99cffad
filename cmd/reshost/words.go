package main

import (
	"slices"
	"strconv"
	"strings"
)

func contains(list []string, s string) bool { return slices.Contains(list, s) }

// count returns "1 plugin", "2 plugins".
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// joinOr joins list with commas, or returns empty for an empty one.
func joinOr(list []string, empty string) string {
	if len(list) == 0 {
		return empty
	}
	return strings.Join(list, ", ")
}
