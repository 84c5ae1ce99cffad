package main

import (
	"strings"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
)

// complete proposes paths that begin with what was typed: the entries of the folder that it ends in, folders with a
// slash at the end to go on from. Above the granted folders it proposes those.
func (s *server) complete(req *reshost.CompleteRequest, out *reshost.Completion) error {
	typed := "/" + req.Value
	for i := range s.roots {
		// Shorter than a root, so that the root is what comes next.
		if r := &s.roots[i]; len(typed) <= len(r.prefix) && strings.HasPrefix(r.prefix, typed) {
			if at := r.prefix[1:] + "/"; expandable(at) && !out.Add(at) {
				return nil
			}
		}
	}
	i := strings.LastIndexByte(typed, '/')
	r, rel, slash, ok := s.roots.resolve(typed[:max(i, 1)])
	if !ok || slash && i > 0 {
		return nil
	}
	return notFound(s.completeName(req.FS(), string(r.fsPath(nil, rel)), typed[1:i+1], typed[i+1:], out))
}

// completeName proposes the entries of the folder at path whose names begin with typed. before is what comes before a name.
func (s *server) completeName(fs reshost.FS, path, before, typed string, out *reshost.Completion) error {
	if strings.IndexByte(typed, 0) >= 0 {
		return nil
	}
	// In byte order an entry that is typed itself comes first, and all that begin with it follow at once.
	if typed != "" && typed != "." && typed != ".." {
		if e, err := fs.Stat(path + "/" + typed); err == nil && !propose(out, before, typed, &e) {
			return nil
		}
	}
	return s.each(fs, path, typed, func(e *reshost.FileInfo) (bool, error) {
		return strings.HasPrefix(e.Name, typed) && propose(out, before, e.Name, e), nil
	})
}

// propose adds one entry and reports whether more are wanted.
func propose(out *reshost.Completion, before, name string, e *reshost.FileInfo) bool {
	if !servable(name) || !expandable(before+name) {
		return true
	}
	if e.Dir {
		return out.Add(before + name + "/")
	}
	return out.Add(before + name)
}

// expandable reports whether a client that expands the template with path gets the URI of path: {+path} leaves "?", "#" and
// what looks percent-encoded as they are (RFC 6570 section 3.2.3), which makes another URI.
func expandable(path string) bool { return !strings.ContainsAny(path, "?#%") }
