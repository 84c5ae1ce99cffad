package wasmplugin

import (
	"io"
	"math"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/wasmplugin/internal/rootfs"
)

// handles are what one call holds open, of all capabilities. They die with it.
type handles struct {
	open map[int32]io.Closer
	last int32
	// listing is the folder that was listed last: a guest that reads it in several pieces costs the host one reading.
	listing *rootfs.Listing
}

// handles returns what the call holds open.
func (c *call) handles() *handles {
	if c.held == nil {
		c.held = &handles{open: map[int32]io.Closer{}}
	}
	return c.held
}

// room reports whether another handle may be given. None is given twice in a call.
func (h *handles) room() bool { return len(h.open) < abi.MaxHandles && h.last < math.MaxInt32 }

// add gives a handle.
func (h *handles) add(x io.Closer) int32 {
	h.last++
	h.open[h.last] = x
	return h.last
}

func (h *handles) close() {
	for _, x := range h.open {
		x.Close()
	}
	if h.listing != nil {
		h.listing.Close()
	}
}
