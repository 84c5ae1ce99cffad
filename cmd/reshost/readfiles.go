package main

import (
	"io/fs"
	"maps"
	"os"
	"sync"

	"github.com/reshost/reshost/cmd/reshost/internal/config"
)

// readFiles is an environment that remembers which files were read, and how they were just before.
type readFiles struct {
	config.Environment

	mu   sync.Mutex // guards seen
	seen map[string]fs.FileInfo
}

func newReadFiles(env config.Environment) *readFiles {
	return &readFiles{Environment: env, seen: map[string]fs.FileInfo{}}
}

// ReadFile implements config.Environment.
func (f *readFiles) ReadFile(path string, most int64) ([]byte, error) {
	f.note(path)
	return f.Environment.ReadFile(path, most)
}

// note remembers how a file or a folder is now. The first look counts: a change after it is a change.
func (f *readFiles) note(path string) {
	info := stamp(path)
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.seen[path]; !ok {
		f.seen[path] = info
	}
}

// take returns what was noted.
func (f *readFiles) take() map[string]fs.FileInfo {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.seen)
}

// stamp says how the file or folder that path leads to is now, through symbolic links; nil where there is none.
func stamp(path string) fs.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil // reading it says why
	}
	return info
}

// sameStamp reports whether two looks found the same, unchanged file, or the same folder whatever is in it.
func sameStamp(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && (a.IsDir() || a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()))
}

// stamps looks again at all paths of m.
func stamps(m map[string]fs.FileInfo) map[string]fs.FileInfo {
	now := make(map[string]fs.FileInfo, len(m))
	for path := range m {
		now[path] = stamp(path)
	}
	return now
}

func sameStamps(a, b map[string]fs.FileInfo) bool {
	for path, info := range a {
		if other, ok := b[path]; !ok || !sameStamp(info, other) {
			return false
		}
	}
	return len(a) == len(b)
}
