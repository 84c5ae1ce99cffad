package wasmplugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/internal/uri"
	"github.com/reshost/reshost/host/wasmplugin/internal/rootfs"
)

// guestFS answers reshost_fs_v1.
type guestFS struct {
	fs    *rootfs.FS
	limit int // entries of a folder; negative: no limit
}

// openFS opens the granted folders and returns each one's URI path prefix beside.
func openFS(grant *FSGrant, limit int) (*guestFS, map[string]string, error) {
	if len(grant.Roots) == 0 {
		return nil, nil, errors.New("grants.fs: no roots: name a folder, such as {main: {path: ./docs}}")
	}
	dirs, prefixes := map[string]string{}, map[string]string{}
	for _, name := range sortedKeys(grant.Roots) {
		r := grant.Roots[name]
		if !validName(name) {
			return nil, nil, fmt.Errorf("grants.fs: root name %.80q: it must be 1 to 64 letters, digits, '-', '_' or '.'", name)
		}
		if r.Path == "" {
			return nil, nil, fmt.Errorf("grants.fs: root %q has no path", name)
		}
		prefix, err := rootPrefix(r)
		if err != nil {
			return nil, nil, fmt.Errorf("grants.fs: root %q: %w", name, err)
		}
		dirs[name], prefixes[name] = r.Path, prefix
	}
	hide := grant.Hide
	if hide == nil {
		hide = []string{".*"}
	}
	f, err := rootfs.Open(dirs, hide)
	if err != nil {
		return nil, nil, fmt.Errorf("grants.fs: %w", err)
	}
	return &guestFS{fs: f, limit: limit}, prefixes, nil
}

// rootPrefix returns the URI path that stands for a root: as it is granted, or the folder's absolute path. It is
// percent-encoded and has no slash at its end, save when it is "/".
func rootPrefix(r FSRoot) (string, error) {
	if r.As != "" {
		if r.As[0] != '/' || r.As != "/" && path.Clean(r.As) != r.As {
			return "", fmt.Errorf("as: %q is not a clean path that begins with '/'", r.As)
		}
		return encodePath(r.As), nil
	}
	abs, err := filepath.Abs(r.Path)
	if err != nil {
		return "", err
	}
	abs = filepath.ToSlash(abs)
	if !strings.HasPrefix(abs, "/") {
		abs = "/" + abs // a drive: file:///C:/docs
	}
	return encodePath(abs), nil
}

// encodePath percent-encodes a file system path for a URI's path.
func encodePath(p string) string {
	var b []byte
	for i := range len(p) {
		if c := p[i]; uri.Unreserved(c) || strings.IndexByte("/!$&'()*+,;=:@", c) >= 0 {
			b = append(b, c)
		} else {
			b = uri.AppendEscape(b, c)
		}
	}
	return string(b)
}

// fsModule is reshost_fs_v1.
func (g *guestFS) fsModule() hostModule {
	return hostModule{
		abi.ImportFSStat: {fn: blocking(g.stat)}, abi.ImportFSOpen: {fn: blocking(g.open)}, abi.ImportFSRead: {fn: blocking(g.read)},
		abi.ImportFSList: {fn: blocking(g.list)}, abi.ImportFSClose: {fn: blocking(g.closeFile)},
	}
}

// admit reports whether this call may use the capability: not while the instance starts, nor to be packed.
func admit(c *call, stack []uint64) bool {
	if c.pack || c.export == "" || c.export == abi.ExportInit {
		stack[0] = result(-int32(abi.StatusDenied))
		return false
	}
	return true
}

// fsStatus maps an error of the file system.
func fsStatus(err error) uint64 {
	s := abi.StatusUnavailable
	switch {
	case errors.Is(err, rootfs.ErrNotExist):
		s = abi.StatusNotFound
	case errors.Is(err, rootfs.ErrPath), errors.Is(err, rootfs.ErrKind):
		s = abi.StatusInvalid
	case errors.Is(err, fs.ErrPermission):
		s = abi.StatusDenied
	case errors.Is(err, rootfs.ErrTooLarge):
		s = abi.StatusTooLarge
	}
	return result(-int32(s))
}

// argPath takes the path that each of the functions but read and close begins with.
func argPath(m guestMemory, stack []uint64) (string, bool) {
	p, ok := m.path(uint32(stack[0]), uint32(stack[1]))
	if !ok {
		stack[0] = result(-int32(abi.StatusNotFound)) // no system has so long a path
	}
	return p, ok
}

func (g *guestFS) stat(_ context.Context, c *call, m guestMemory, stack []uint64) {
	p, ok := argPath(m, stack)
	if !ok || !admit(c, stack) {
		return
	}
	e, err := g.fs.Stat(p)
	if err != nil {
		stack[0] = fsStatus(err)
		return
	}
	msg := entryMessage(e)
	stack[0] = result(m.fill(uint32(stack[2]), uint32(stack[3]), msg.Append(nil)))
}

func entryMessage(e rootfs.Entry) abi.Entry {
	msg := abi.Entry{Name: e.Name, Kind: abi.EntryFile, Size: uint64(e.Size), MTimeNanos: uint64(e.MTime), Link: e.Link, Version: e.Version}
	if e.Kind == rootfs.Folder {
		msg.Kind = abi.EntryFolder
	}
	return msg
}

func (g *guestFS) open(_ context.Context, c *call, m guestMemory, stack []uint64) {
	p, ok := argPath(m, stack)
	if !ok || !admit(c, stack) {
		return
	}
	h := c.handles()
	if !h.room() {
		stack[0] = result(-int32(abi.StatusTooLarge))
		return
	}
	f, err := g.fs.OpenFile(p)
	if err != nil {
		stack[0] = fsStatus(err)
		return
	}
	stack[0] = result(h.add(f))
}

// read fills the guest's buffer from an offset; 0 is the end.
func (g *guestFS) read(ctx context.Context, c *call, m guestMemory, stack []uint64) {
	b := m.view(uint32(stack[2]), uint32(stack[3]))
	f, off := c.file(uint32(stack[0])), int64(stack[1])
	if f == nil || off < 0 {
		stack[0] = result(-int32(abi.StatusInvalid))
		return
	}
	b = b[:min(len(b), math.MaxInt32)]
	total := 0
	for total < len(b) {
		n, err := f.ReadAt(b[total:min(len(b), total+chunk)], off+int64(total))
		total += n
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			stack[0] = fsStatus(err)
			return
		}
		c.check(ctx)
	}
	stack[0] = result(int32(total))
}

func (c *call) file(handle uint32) *os.File {
	f, _ := c.handles().open[int32(handle)].(*os.File)
	return f
}

func (g *guestFS) closeFile(_ context.Context, c *call, _ guestMemory, stack []uint64) {
	f := c.file(uint32(stack[0]))
	if f == nil {
		stack[0] = result(-int32(abi.StatusInvalid))
		return
	}
	f.Close()
	delete(c.handles().open, int32(uint32(stack[0])))
	stack[0] = 0
}

// list writes the entries after a name that fit, whole, each with its length before it; 0 is the end. Where not even one
// fits it returns the length that one needs.
//
//	buf |len|entry......|len|entry....|  unused  |
func (g *guestFS) list(ctx context.Context, c *call, m guestMemory, stack []uint64) {
	p, ok := argPath(m, stack)
	if !ok || !admit(c, stack) {
		return
	}
	after, ok := m.path(uint32(stack[2]), uint32(stack[3]))
	buf := m.view(uint32(stack[4]), uint32(stack[5]))
	if !ok {
		stack[0] = result(-int32(abi.StatusInvalid))
		return
	}
	l, err := g.listing(ctx, c, p, after)
	if err != nil {
		stack[0] = fsStatus(err)
		return
	}
	buf = buf[:min(len(buf), math.MaxInt32)]
	used, need := 0, 0
	err = l.After(after, func(e rootfs.Entry) bool {
		c.check(ctx)
		msg := entryMessage(e)
		one := msg.AppendPrefixed(nil)
		if len(one) > len(buf)-used {
			need = len(one)
			return false
		}
		used += copy(buf[used:], one)
		return true
	})
	switch {
	case err != nil && used == 0:
		stack[0] = fsStatus(err)
	case used == 0:
		stack[0] = result(int32(need))
	default:
		stack[0] = result(int32(used))
	}
}

// listing reads a folder, or takes up the one that this call is in the middle of. A listing from the start reads anew.
func (g *guestFS) listing(ctx context.Context, c *call, p, after string) (*rootfs.Listing, error) {
	h := c.handles()
	if h.listing != nil {
		if after != "" && h.listing.Path() == p {
			return h.listing, nil
		}
		h.listing.Close()
		h.listing = nil
	}
	l, err := g.fs.List(p, g.limit, func() error { c.check(ctx); return nil })
	if err != nil {
		return nil, err
	}
	h.listing = l
	return l, nil
}
