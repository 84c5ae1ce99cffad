package wasmplugin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// codeStore keeps compiled code on disk. An entry is a folder named by the digest of the module, below one named by the
// engine and the processor, with what the engine wrote and a file of checksums over it: the engine's own checksum does not
// cover all of it, and a wrong byte there is a jump to anywhere. Several processes may use one folder: entries appear and
// go by being renamed, and are never changed in place.
type codeStore struct {
	root   string // the operator's folder; "" keeps nothing
	engine string // see engineName
	limit  int64  // bytes of all entries; negative: none
	log    *slog.Logger
}

const (
	// sumFile is the file of checksums in an entry's folder. It is written last, and its time is that of the entry's last use.
	sumFile = "SHA256SUMS"
	// maxCode bounds the compiled code of one module, in bytes.
	maxCode = 256 << 20
	// scratchPrefix begins the names of folders that are being written or removed. What is as old as maxScratchAge was left
	// by a process that ended meanwhile.
	scratchPrefix = "new-"
	maxScratchAge = time.Hour
)

func newCodeStore(dir string, limit int64, log *slog.Logger) (*codeStore, error) {
	s := &codeStore{limit: limit, log: log}
	if dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("cache folder %q: %w", dir, err)
		}
		if err := os.MkdirAll(abs, 0o700); err != nil {
			return nil, fmt.Errorf("cache folder: %w", err)
		}
		if err := checkPrivate(abs); err != nil {
			return nil, err
		}
		s.root = abs
	}
	probe, err := s.scratch()
	if err != nil { // a folder that was filled ahead of time may be read only
		probe, err = s.elsewhere()
	}
	if err != nil {
		return nil, fmt.Errorf("no folder for compiled code: %w", err)
	}
	defer os.RemoveAll(probe)
	if s.engine, err = engineName(probe); err != nil {
		return nil, fmt.Errorf("cache folder: %w", err)
	}
	s.evict("")
	return s, nil
}

// engineName names what compiled code depends on beside the module: the engine's version, the machine's kind and the
// processor's features. The engine keeps the last to itself; but they are in the name of the file that it makes for a
// module, whichever that is.
func engineName(probe string) (string, error) {
	const empty = "\x00asm\x01\x00\x00\x00"
	ctx := context.Background()
	cc, code, err := compileWithDir(ctx, probe, []byte(empty))
	if err != nil {
		return "", err
	}
	if err := errors.Join(code.runtime.Close(ctx), cc.Close(ctx)); err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(probe, "*", "*"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("the engine made %d files, not one: %v", len(found), err)
	}
	const digits = 12
	folder, file := filepath.Split(found[0])
	return filepath.Base(folder) + "-" + file[:min(digits, len(file))], nil
}

// path is where an entry stands.
func (s *codeStore) path(digest string) string { return filepath.Join(s.root, s.engine, digest) }

// has reports whether an entry is there.
func (s *codeStore) has(digest string) bool {
	_, err := os.Lstat(s.path(digest))
	return err == nil
}

// scratch makes a new folder for something to be published, and elsewhere one for what cannot be.
func (s *codeStore) scratch() (string, error) {
	if s.root == "" {
		return s.elsewhere()
	}
	return os.MkdirTemp(s.root, scratchPrefix+"*")
}

func (s *codeStore) elsewhere() (string, error) { return os.MkdirTemp("", "reshost-compiled-*") }

// stage returns a folder of the caller's own with an entry that was found to be good: what others do to the entry
// meanwhile does not matter. A missing entry is os.ErrNotExist.
func (s *codeStore) stage(digest string) (string, error) {
	if s.root == "" {
		return "", os.ErrNotExist
	}
	entry := s.path(digest)
	st, err := os.Lstat(entry)
	if err != nil {
		return "", err
	}
	if !st.IsDir() {
		return "", errors.New("it is not a folder")
	}
	tmp, err := s.scratch()
	if err != nil {
		if tmp, err = s.elsewhere(); err != nil {
			return "", err
		}
	}
	if err = copyTree(tmp, entry); err == nil {
		err = verifySums(tmp)
	}
	if err != nil {
		os.RemoveAll(tmp)
		if _, gone := os.Lstat(entry); errors.Is(gone, os.ErrNotExist) {
			return "", os.ErrNotExist // evicted in between
		}
		return "", err
	}
	now := time.Now()
	_ = os.Chtimes(filepath.Join(entry, sumFile), now, now) // without it the entry merely counts as older
	return tmp, nil
}

// copyTree makes to a copy of a folder: by links where the file system has them.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		dst := filepath.Join(to, rel)
		switch {
		case rel == ".":
			return nil
		case d.IsDir():
			return os.Mkdir(dst, 0o700)
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is not a regular file", rel)
		case os.Link(path, dst) == nil:
			return nil
		}
		return copyFile(dst, path)
	})
}

func copyFile(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, maxCode+1))
	return errors.Join(err, out.Close())
}

// publish moves a finished entry to its place. Another process may have put one there meanwhile: either is good.
func (s *codeStore) publish(tmp, digest string) error {
	if s.root == "" {
		return nil
	}
	if _, size, err := folderSize(tmp); err == nil && s.limit >= 0 && size > s.limit {
		return fmt.Errorf("%d bytes are more than the cache may hold", size)
	}
	sums, err := folderSums(tmp)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, sumFile), sums, 0o600); err != nil {
		return err
	}
	final := s.path(digest)
	if err := os.MkdirAll(filepath.Dir(final), 0o700); err != nil {
		return err
	}
	if verifySums(final) == nil {
		return nil
	}
	s.drop(digest)
	if err := os.Rename(tmp, final); err != nil && verifySums(final) != nil {
		return err
	}
	s.evict(digest)
	return nil
}

// drop removes an entry at one stroke, so that nobody meets half of it.
func (s *codeStore) drop(digest string) { s.remove(s.path(digest)) }

func (s *codeStore) remove(entry string) {
	tmp, err := s.scratch()
	if err != nil {
		return
	}
	_ = os.Rename(entry, filepath.Join(tmp, "old"))
	if err := os.RemoveAll(tmp); err != nil {
		s.log.Debug("a cache entry is not removed", "entry", entry, "error", err)
	}
}

// storedEntry is an entry of any engine.
type storedEntry struct {
	path string
	size int64
	used time.Time
}

// evict removes the entries that were used longest ago until the rest is within the limit, and what processes that ended
// have left. keep is the digest of an entry that stays. Other processes may be at it too: what is gone is gone.
func (s *codeStore) evict(keep string) {
	if s.root == "" {
		return
	}
	var entries []storedEntry
	total := int64(0)
	engines, _ := os.ReadDir(s.root)
	for _, engine := range engines {
		dir := filepath.Join(s.root, engine.Name())
		if strings.HasPrefix(engine.Name(), scratchPrefix) {
			if st, err := engine.Info(); err == nil && time.Since(st.ModTime()) > maxScratchAge {
				_ = os.RemoveAll(dir) // tried again the next time
			}
			continue
		}
		found, _ := os.ReadDir(dir)
		for _, d := range found {
			e := measureEntry(filepath.Join(dir, d.Name()))
			entries = append(entries, e)
			total += e.size
		}
	}
	if s.limit < 0 || total <= s.limit {
		return
	}
	slices.SortFunc(entries, func(a, b storedEntry) int { return a.used.Compare(b.used) })
	for _, e := range entries {
		if total <= s.limit {
			return
		}
		if keep != "" && e.path == s.path(keep) {
			continue
		}
		s.remove(e.path)
		total -= e.size
		s.log.Debug("a cache entry is evicted", "entry", e.path, "bytes", e.size, "used", e.used)
	}
}

// measureEntry returns the size of an entry and when it was last used: never, where it has no checksums.
func measureEntry(path string) storedEntry {
	e := storedEntry{path: path}
	_, e.size, _ = folderSize(path)
	if st, err := os.Lstat(filepath.Join(path, sumFile)); err == nil {
		e.used = st.ModTime()
	}
	return e
}

// folderSize counts the regular files below a folder, or that file, and their bytes.
func folderSize(dir string) (files int, size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		files++
		size += st.Size()
		return nil
	})
	return files, size, err
}

// verifySums compares an entry's files with its checksums. A missing entry is fs.ErrNotExist.
func verifySums(dir string) error {
	if _, err := os.Lstat(dir); err != nil {
		return err
	}
	want, err := readBounded(filepath.Join(dir, sumFile), 64<<10)
	if err != nil {
		return fmt.Errorf("unreadable checksums: %v", err)
	}
	got, err := folderSums(dir)
	if err != nil {
		return fmt.Errorf("unreadable entry: %v", err)
	}
	if !bytes.Equal(got, want) {
		return errors.New("its checksums do not match")
	}
	return nil
}

// folderSums returns a line "digest  path" for each file below dir but the file of checksums, in order of the paths.
func folderSums(dir string) ([]byte, error) {
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || rel == sumFile {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is not a regular file", rel)
		}
		sum, err := fileSum(path)
		if err != nil {
			return err
		}
		lines = append(lines, hex.EncodeToString(sum)+"  "+filepath.ToSlash(rel)+"\n")
		return nil
	})
	slices.Sort(lines)
	return []byte(strings.Join(lines, "")), err
}

func fileSum(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}

func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return b, err
}
