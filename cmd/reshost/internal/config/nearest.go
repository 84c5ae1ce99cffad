package config

// nearest returns the candidate that word was most likely meant to be, or "" when none is close: at most a third of the
// word's letters may differ; two may always, and one in words of up to three letters.
func nearest(word string, candidates []string) string {
	if len(word) > 64 {
		return ""
	}
	most := max(2, len(word)/3)
	if len(word) <= 3 {
		most = 1
	}
	best, bestDistance := "", most+1
	for _, c := range candidates {
		if d := distance(word, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is the optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
