package main

import (
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
)

const (
	// frameBytes is the buffer for the entries of one folder that is being walked.
	frameBytes = 32 << 10
	// maxFrames is how many folders, one inside the other, keep their entries while the walk is in a deeper one. Those
	// further down share one buffer and ask for their entries again when the walk comes back.
	maxFrames = 48
	// maxDepth is how many folders, one inside the other, are entered. What a folder costs grows with its depth: without
	// an end one long chain would take the time of all lists.
	maxDepth = 256
)

// walk goes through all files below some roots, each folder's entries in byte order and a folder's content in the folder's
// place. Only where it is counts: it can begin after any file, for the price of one list of each folder on the way.
// It keeps its buffers from file to file, so that a file costs no memory.
type walk struct {
	call  *reshost.Call
	fs    reshost.FS
	roots roots

	frames  []frame
	buffers [][]byte
	// root is the place in roots of the one that is being walked.
	root int
	// path is the current entry's for the fs capability, beginning with the root's name, and uri its URI.
	path, uri []byte
	entry     reshost.FileInfo
	// tooDeep says that the log has been told of a folder that was not entered.
	tooDeep bool
}

// frame is one folder on the way to the current entry.
type frame struct {
	// path and uri are the lengths of the folder's own in walk.path and walk.uri.
	path, uri int
	// rest are the entries that are still to come of what the host gave; more says that it may have more.
	rest reshost.Listing
	more bool
}

// newWalk returns a walk that stands before the first file after the one at cursor; "" is before all. A cursor is what
// position returned. It need not exist any more. A malformed one gives nil.
func newWalk(call *reshost.Call, rs roots, cursor string) *walk {
	w := &walk{call: call, fs: call.FS(), roots: rs, root: -1}
	if cursor == "" {
		return w
	}
	name, rel, _ := strings.Cut(cursor, "/")
	if rel == "" || !cleanPath(rel) {
		return nil
	}
	for i := range rs {
		if rs[i].name == name {
			w.root = i
			w.enterRoot()
			w.resume(rel)
			return w
		}
		if rs[i].name < name {
			w.root = i // its root is gone: go on with the one after it
		}
	}
	return w
}

// resume puts the walk after the entry rel of the root that it has entered.
func (w *walk) resume(rel string) {
	for {
		segment, rest, deeper := strings.Cut(rel, "/")
		w.step(segment)
		if !deeper {
			return
		}
		w.enter()
		rel = rest
	}
}

// next goes to the next file and reports whether there is one. An error ends the walk.
func (w *walk) next() (bool, error) {
	for {
		if len(w.frames) == 0 {
			if w.root+1 >= len(w.roots) {
				return false, nil
			}
			w.root++
			w.enterRoot()
		}
		f := &w.frames[len(w.frames)-1]
		ok, err := f.rest.Next(&w.entry)
		if err != nil {
			return false, err
		}
		if !ok {
			if err := w.refill(f); err != nil {
				return false, err
			}
			if f.rest.Empty() {
				w.leave()
			}
			continue
		}
		w.path, w.uri = w.path[:f.path], w.uri[:f.uri]
		w.step(w.entry.Name)
		switch {
		case !servable(w.entry.Name) || len(w.uri) > maxURI:
		case !w.entry.Dir:
			return true, nil
		case w.entry.Link: // it may lead back up
		case len(w.frames) >= maxDepth:
			w.passOver()
		case !w.roots.owns(w.current(), w.path[len(w.current().name):]): // else it is listed as a root of its own
			w.enter()
		}
	}
}

// passOver leaves out a folder that is too deep, and says so once.
func (w *walk) passOver() {
	if !w.tooDeep {
		w.tooDeep = true
		w.call.Log(reshost.LevelWarning, "left out of the list: folders more than "+strconv.Itoa(maxDepth)+" deep, such as one in "+string(w.path[:min(len(w.path), 80)]))
	}
}

// position returns the cursor that resumes after the current file. It is valid until the next call of next.
func (w *walk) position() string { return view(w.path) }

// current returns the root that is being walked.
func (w *walk) current() *root { return &w.roots[w.root] }

// enterRoot puts the walk at the top of the root that w.root names.
func (w *walk) enterRoot() {
	r := w.current()
	w.path = append(w.path[:0], r.name...)
	w.uri = append(w.uri[:0], r.uri...)
	w.enter()
}

// step appends an entry's name to path and uri.
func (w *walk) step(name string) {
	w.path = append(append(w.path, '/'), name...)
	w.uri = append(append(w.uri, '/'), reshost.EscapePath(name)...)
}

// enter makes the current entry, a folder, the one that is walked.
func (w *walk) enter() {
	depth := len(w.frames)
	if depth >= maxFrames {
		// The parent's entries are about to be overwritten.
		w.frames[depth-1].rest = reshost.Listing{}
		w.frames[depth-1].more = true
	}
	w.frames = append(w.frames, frame{path: len(w.path), uri: len(w.uri), more: true})
}

// leave goes back to the folder above. The one that is left stays the current entry, so that the walk goes on after it.
func (w *walk) leave() {
	f := w.frames[len(w.frames)-1]
	w.path, w.uri = w.path[:f.path], w.uri[:f.uri]
	w.frames = w.frames[:len(w.frames)-1]
}

// refill asks the host for the entries that come after the current one. A folder that has vanished, that the host's own
// account may not open or that has too many entries has none: one such must not hide all the others.
func (w *walk) refill(f *frame) error {
	if !f.more {
		f.rest = reshost.Listing{}
		return nil
	}
	i := min(len(w.frames), maxFrames) - 1
	for len(w.buffers) <= i {
		w.buffers = append(w.buffers, make([]byte, frameBytes))
	}
	after := ""
	if len(w.path) > f.path {
		after = view(w.path[f.path+1:])
	}
	rest, err := w.fs.ListInto(&w.buffers[i], view(w.path[:f.path]), after)
	switch code := reshost.CodeOf(err); {
	case err == nil:
	case code == reshost.CodeDenied, code == reshost.CodeTooLarge:
		w.call.Log(reshost.LevelWarning, "left out of the list: "+err.Error())
	case code != reshost.CodeNotFound && code != reshost.CodeInvalid && code != reshost.CodeUnsupported:
		return err
	}
	f.rest = rest
	f.more = !rest.Empty()
	return nil
}

// view returns b as a string that shares its memory: it is for a call that does not keep it.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// servable reports whether an entry's name can stand in a URI that reads back. The host takes no value of a template that
// is not UTF-8 or holds a backslash, which is a separator elsewhere.
func servable(name string) bool {
	return name != "" && strings.IndexByte(name, '\\') < 0 && utf8.ValidString(name)
}
