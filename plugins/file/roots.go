package main

import (
	"strings"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
)

// maxURI is the longest URI that is listed or proposed: the host refuses longer ones (8 KiB).
const maxURI = 8 << 10

// root is a granted folder.
type root struct {
	// name is what the operator called it; paths of the fs capability begin with it.
	name string
	// prefix is the path under which its files stand in URIs, decoded and without a slash at the end: "/srv/docs", and "" for
	// "/".
	prefix string
	// uri is the root's own, percent-encoded and without a slash at the end.
	uri string
	// foldCase says that the prefix begins with a drive letter, so that its case does not count (URI-02).
	foldCase bool
}

// roots are the granted folders in the order of their names.
type roots []root

// newRoot returns the granted folder name, whose URIs have the scheme and whose paths begin with the prefix, which is
// percent-encoded.
func newRoot(scheme, name, prefix string) (root, error) {
	prefix = strings.TrimRight(prefix, "/")
	decoded, ok := reshost.Unescape(prefix)
	if !ok {
		return root{}, reshost.Internal("the prefix of root " + name + " is not percent-encoded")
	}
	return root{name: name, prefix: decoded, uri: scheme + "://" + prefix, foldCase: hasDrive(decoded)}, nil
}

// hasDrive reports whether a URI's path begins with a drive letter, as in "/C:/docs".
func hasDrive(path string) bool {
	return len(path) >= 3 && path[0] == '/' && path[2] == ':' && isLetter(path[1]) && (len(path) == 3 || path[3] == '/')
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// resolve finds the root that a URI's path lies in, the longest prefix first, and the rest of the path below it: ""
// for the root itself. The path is decoded. Whatever could mean another file by a second reading, such as dot
// segments, empty segments and NUL, is in no root. A slash at the end is dropped and reported: only a folder may have one.
func (rs roots) resolve(path string) (r *root, rel string, slash, ok bool) {
	for i := range rs {
		below, inside := rs[i].cut(path)
		if inside && (r == nil || len(rs[i].prefix) > len(r.prefix)) {
			r, rel = &rs[i], below
		}
	}
	if r == nil {
		return nil, "", false, false
	}
	if rel, slash = strings.CutSuffix(rel, "/"); slash && rel == "" {
		return nil, "", false, false // two slashes
	}
	slash = slash || rel == "" && strings.HasSuffix(path, "/")
	if rel != "" && !cleanPath(rel) {
		return nil, "", false, false
	}
	return r, rel, slash, true
}

// cut returns the part of path below the root.
func (r *root) cut(path string) (rel string, ok bool) {
	n := len(r.prefix)
	if len(path) < n || !(path[:n] == r.prefix || r.foldCase && strings.EqualFold(path[:n], r.prefix)) {
		return "", false
	}
	if len(path) == n {
		return "", n > 0
	}
	if path[n] != '/' {
		return "", false
	}
	return path[n+1:], true
}

// cleanPath reports whether every segment of path names an entry of a folder.
func cleanPath(path string) bool {
	if strings.IndexByte(path, 0) >= 0 || strings.IndexByte(path, '\\') >= 0 {
		return false
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return false
		}
	}
	return true
}

// owns reports whether the folder below r, a path with a slash at its front, is the top of another root. Such a folder
// is served as that root alone, so that no file is listed twice.
func (rs roots) owns(r *root, below []byte) bool {
	for i := range rs {
		rest, inside := strings.CutPrefix(rs[i].prefix, r.prefix)
		if inside && &rs[i] != r && rest == string(below) {
			return true
		}
	}
	return false
}

// fsPath returns what the fs capability calls the entry rel of r.
func (r *root) fsPath(b []byte, rel string) []byte {
	b = append(b, r.name...)
	if rel != "" {
		b = append(append(b, '/'), rel...)
	}
	return b
}
