//go:build !wasip1

package reshost

import "github.com/reshost/reshost/abi"

// NativeHost stands in for the host where there is no sandbox. Package reshosttest implements it; plugins' tests use that.
// The methods are the imports of the ABI, with slices in place of addresses.
type NativeHost interface {
	Req(buf []byte) int
	Emit(kind abi.Kind, rec []byte) abi.Reply
	Write(b []byte) abi.Reply
	Log(level abi.Level, message string)
	ConfigGet(pointer string, buf []byte) int
	FSStat(path string, buf []byte) int
	FSOpen(path string) int
	FSRead(h int32, off int64, buf []byte) int
	FSList(path, after string, buf []byte) int
	FSClose(h int32) int
	HTTPSend(req []byte) int
	HTTPHead(h int32, buf []byte) int
	HTTPRead(h int32, buf []byte) int
	HTTPClose(h int32) int
	KVGet(key string, buf []byte) int
	KVPut(key string, value []byte, ttlMillis int64) int
	KVDel(key string) int
}

// NewInstance returns a plugin that runs natively against h. Only one call runs at a time.
func NewInstance(p *Plugin, h NativeHost) *Instance { return &Instance{p: p, h: host{h}} }

// Run calls an export by its name, such as "rh_read".
func (in *Instance) Run(export string) abi.Status {
	switch export {
	case abi.ExportInit:
		return in.initialize()
	case abi.ExportDescribe:
		return in.describe()
	case abi.ExportRead:
		return in.read()
	case abi.ExportList:
		return in.list()
	case abi.ExportComplete:
		return in.complete()
	case abi.ExportPoll:
		return in.poll()
	}
	return abi.StatusUnsupported
}

// host calls the stand-in.
type host struct{ NativeHost }

func (h host) req(buf []byte) int                         { return h.Req(buf) }
func (h host) emit(kind abi.Kind, rec []byte) abi.Reply   { return h.Emit(kind, rec) }
func (h host) write(b []byte) abi.Reply                   { return h.Write(b) }
func (h host) log(level Level, message string)            { h.Log(level, message) }
func (h host) configGet(path string, buf []byte) int      { return h.ConfigGet(path, buf) }
func (h host) fsStat(path string, buf []byte) int         { return h.FSStat(path, buf) }
func (h host) fsOpen(path string) int                     { return h.FSOpen(path) }
func (h host) fsRead(fd int32, off int64, buf []byte) int { return h.FSRead(fd, off, buf) }
func (h host) fsList(path, after string, buf []byte) int  { return h.FSList(path, after, buf) }
func (h host) fsClose(fd int32) int                       { return h.FSClose(fd) }
func (h host) httpSend(req []byte) int                    { return h.HTTPSend(req) }
func (h host) httpHead(fd int32, buf []byte) int          { return h.HTTPHead(fd, buf) }
func (h host) httpRead(fd int32, buf []byte) int          { return h.HTTPRead(fd, buf) }
func (h host) httpClose(fd int32) int                     { return h.HTTPClose(fd) }
func (h host) kvGet(key string, buf []byte) int           { return h.KVGet(key, buf) }
func (h host) kvPut(key string, v []byte, ttl int64) int  { return h.KVPut(key, v, ttl) }
func (h host) kvDel(key string) int                       { return h.KVDel(key) }
