package reshost

import "github.com/reshost/reshost/abi"

// ListFunc writes a page of resources to out, in a stable order, from metadata alone. It looks the same whatever the page:
//
//	for _, e := range everythingAfter(req.Cursor) {
//		if !out.Add(resourceOf(e), e.Key) {
//			break
//		}
//	}
//	return nil
type ListFunc func(req *ListRequest, out *ListResponse) error

// ListRequest asks for a page.
type ListRequest struct {
	Call
	Caller
	// Cursor is the after of the last resource on the page before; empty for the first page.
	Cursor string
	// PageSize is the most resources wanted, at least 1. ListResponse counts; it is a hint for reading ahead.
	PageSize int
}

// ListResponse takes a page of resources.
type ListResponse struct {
	in     *Instance
	left   int
	after  []byte
	added  bool
	full   bool
	broken bool
	info   abi.Info
}

// Add adds a resource, of which it keeps nothing. after is the cursor from which the list goes on behind it, never empty.
// Add reports false when the page is full: r was not taken, the next page begins with it, and the handler returns. A
// resource that the host rejects (its log says why) is left out.
func (w *ListResponse) Add(r Resource, after string) bool {
	if w.full {
		return false
	}
	if w.left == 0 {
		w.full = true
		return false
	}
	rec := abi.Resource{
		URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType,
		Size: abi.Optional(r.Size), MetaJSON: r.Meta,
	}
	w.in.json.Reset()
	if r.Annotations != nil {
		r.Annotations.appendTo(&w.in.json)
	}
	n := len(w.in.json.buf)
	if len(r.Icons) > 0 {
		appendIcons(&w.in.json, r.Icons)
	}
	rec.AnnotationsJSON, rec.IconsJSON = stringOf(w.in.json.buf[:n]), stringOf(w.in.json.buf[n:])
	w.in.rec = rec.Append(w.in.rec[:0])
	if w.in.emit(abi.KindResource) == abi.ReplyStop {
		w.full = true
		return false
	}
	w.left--
	w.after, w.added = append(w.after[:0], after...), true
	w.broken = w.broken || after == ""
	return true
}

// SetTTL says how long the page may be reused.
func (w *ListResponse) SetTTL(millis int64) { w.info.TTLMillis = abi.Some(uint64(max(millis, 0))) }

// SetPublic says that every caller gets the same list. It counts only where the operator allows it.
func (w *ListResponse) SetPublic() { w.info.Scope = abi.ScopePublic }
