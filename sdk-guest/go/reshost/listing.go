package reshost

import "github.com/reshost/reshost/abi"

// Listing is a run of a folder's entries as the host gave them, taken one by one. Unlike [FS.List] it makes nothing of
// them but what is asked for, so that walking a large tree costs no memory.
type Listing struct{ rest string }

// ListInto is List into a buffer of the caller's: the entries behind the name after, as many as fit into *buf, which
// grows where not even one does. An empty listing is the end. The listing and the strings of its entries share the
// buffer's memory and hold until it is used again.
func (f FS) ListInto(buf *[]byte, path, after string) (Listing, error) {
	n := f.in.h.fsList(path, after, *buf)
	if n > len(*buf) {
		*buf = make([]byte, n)
		n = f.in.h.fsList(path, after, *buf)
	}
	if n < 0 || n > len(*buf) {
		return Listing{}, fsError("list", path, n)
	}
	return Listing{stringOf((*buf)[:n])}, nil
}

// Empty reports whether no entry is left.
func (l *Listing) Empty() bool { return l.rest == "" }

// Next moves the first entry that is left into info; without one it reports false. An error means that the host broke the
// contract.
func (l *Listing) Next(info *FileInfo) (ok bool, err error) {
	if l.rest == "" {
		return false, nil
	}
	var e abi.Entry
	if e, l.rest, err = abi.TakeEntry(l.rest); err != nil {
		return false, err
	}
	*info = infoOf(&e)
	return true, nil
}
