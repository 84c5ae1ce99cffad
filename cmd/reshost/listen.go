package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/reshost/reshost/cmd/reshost/internal/config"
)

// socketMode lets the owner and the group connect: a proxy is put into the group.
const socketMode = 0o660

func isUnix(addr string) bool { return strings.HasPrefix(addr, config.ListenUnix) }

// listen takes the configured address.
func listen(ctx context.Context, cfg *config.Config) (net.Listener, error) {
	addr := cfg.Server.Listen
	var lc net.ListenConfig
	path, unix := strings.CutPrefix(addr, config.ListenUnix)
	if !unix {
		ln, err := lc.Listen(ctx, "tcp", addr)
		if err != nil {
			return nil, listenError(cfg, addr, err)
		}
		return ln, nil
	}
	if err := removeStale(ctx, path); err != nil {
		return nil, listenError(cfg, addr, err)
	}
	ln, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, listenError(cfg, addr, err)
	}
	if err := os.Chmod(path, socketMode); err != nil {
		return nil, errors.Join(listenError(cfg, addr, err), ln.Close())
	}
	return ln, nil
}

// removeStale removes a socket that an ended process left behind. One that still answers, and anything that is no
// socket, stays.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is there already and is no socket: remove it, or name another path", path)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		conn.Close()
		return syscall.EADDRINUSE
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}

// isInUse reports whether an address is taken.
func isInUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) || isWindowsInUse(err) }

// wsaEADDRINUSE is Winsock's number for an address in use; package syscall has no name for it.
const wsaEADDRINUSE = syscall.Errno(10048)

func isWindowsInUse(err error) bool { return errors.Is(err, wsaEADDRINUSE) }
