package main

import "testing"

// A list that lacks something is printed, and is a failure all the same: a script must not take it for the whole.
func TestIncomplete(t *testing.T) {
	for _, tt := range []struct {
		name    string
		leftOut []string
		want    string
	}{
		{"whole", nil, ""},
		{"one on each page", []string{"b", "b"}, "the list lacks what failed to answer: b; the log says why"},
		{"several", []string{"b", "a", "b"}, "the list lacks what failed to answer: a, b; the log says why"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := incomplete(tt.leftOut); err != nil {
				got = err.Error()
				if code := exitCode(err); code != 1 {
					t.Errorf("exit code %d, want 1", code)
				}
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
