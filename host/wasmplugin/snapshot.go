package wasmplugin

import (
	"bytes"

	"github.com/tetratelabs/wazero/api"
)

// snapshot is what an instance was when it had just started: its memory and its mutable globals. It is all that a call
// can change (package meter lists what else there might be; such a module gets isolation fresh), so that an instance which
// is put back to it is as good as new, and any other instance of the module can be made from it without running the
// guest's start again.
type snapshot struct {
	size    uint64 // of the memory
	memory  []byte // without the zeroes at its end
	globals []uint64
	image   *startImage // of memory; nil where instances are put back by copying
}

// maxGrowth is by how much an instance may have grown and still be put back: the engine's memory cannot shrink, and what
// one call needed is not to be held for good.
const maxGrowth = 4 << 20

// snapshot copies what the instance is.
func (i *instance) snapshot() *snapshot {
	s := &snapshot{size: i.mem.size}
	b := bytes.TrimRight(i.mem.bytes(), "\x00")
	if s.image = newStartImage(b); s.image == nil {
		s.memory = bytes.Clone(b)
	}
	for _, g := range i.globals {
		s.globals = append(s.globals, g.Get())
	}
	return s
}

func (s *snapshot) close() {
	if s != nil {
		s.image.close()
	}
}

// begin makes an instance that has not run yet into the one that the snapshot was taken of.
func (i *instance) begin(s *snapshot) error {
	if i.mem.size < s.size || s.image != nil && !i.mem.begin(s.image) {
		return errNoMemory
	}
	if s.image != nil {
		i.mem.zero(s.image.size)
	}
	i.put(s)
	return nil
}

// restore puts the instance back. It reports false where that is not worth it, or not possible.
func (i *instance) restore(s *snapshot) bool {
	if s == nil || i.broken || i.mod.IsClosed() || i.mem.size > s.size+maxGrowth {
		return false
	}
	if s.image != nil && !i.mem.again() {
		return false
	}
	i.put(s)
	i.mem.refused = false
	return true
}

// put writes the snapshot's memory, where no image holds it, and globals.
func (i *instance) put(s *snapshot) {
	if s.image == nil {
		copy(i.mem.bytes(), s.memory)
		i.mem.zero(uint64(len(s.memory)))
	}
	for k, g := range i.globals {
		g.Set(s.globals[k])
	}
}

// mutable looks the globals up that a reset puts back.
func mutable(mod api.Module, names []string) ([]api.MutableGlobal, bool) {
	globals := make([]api.MutableGlobal, 0, len(names))
	for _, name := range names {
		g, ok := mod.ExportedGlobal(name).(api.MutableGlobal)
		if !ok {
			return nil, false
		}
		globals = append(globals, g)
	}
	return globals, true
}
