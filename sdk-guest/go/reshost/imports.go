//go:build wasip1

package reshost

import (
	"unsafe"

	"github.com/reshost/reshost/abi"
)

// host calls the host's functions. Each passes the address of a live slice or string; the host keeps none after it
// returned. The names repeat constants of package abi, which a directive cannot use; a test compares them.
type host struct{}

//go:wasmimport reshost_v1 req
//go:noescape
func importReq(buf unsafe.Pointer, n uint32) int32

//go:wasmimport reshost_v1 emit
//go:noescape
func importEmit(kind int32, p unsafe.Pointer, n uint32) int32

//go:wasmimport reshost_v1 write
//go:noescape
func importWrite(p unsafe.Pointer, n uint32) int32

//go:wasmimport reshost_v1 log
//go:noescape
func importLog(level int32, p unsafe.Pointer, n uint32)

//go:wasmimport reshost_config_v1 get
//go:noescape
func importConfigGet(path unsafe.Pointer, plen uint32, buf unsafe.Pointer, n uint32) int32

//go:wasmimport reshost_fs_v1 stat
//go:noescape
func importFSStat(path unsafe.Pointer, plen uint32, buf unsafe.Pointer, n uint32) int32

//go:wasmimport reshost_fs_v1 open
//go:noescape
func importFSOpen(path unsafe.Pointer, plen uint32) int32

//go:wasmimport reshost_fs_v1 read
//go:noescape
func importFSRead(h int32, off int64, buf unsafe.Pointer, n uint32) int32

//go:wasmimport reshost_fs_v1 list
//go:noescape
func importFSList(path unsafe.Pointer, plen uint32, after unsafe.Pointer, alen uint32, buf unsafe.Pointer, n uint32) int32

//go:wasmimport reshost_fs_v1 close
//go:noescape
func importFSClose(h int32) int32

//go:wasmimport reshost_http_v1 send
//go:noescape
func importHTTPSend(p unsafe.Pointer, n uint32) int32

//go:wasmimport reshost_http_v1 head
//go:noescape
func importHTTPHead(h int32, buf unsafe.Pointer, n uint32) int32

//go:wasmimport reshost_http_v1 read
//go:noescape
func importHTTPRead(h int32, buf unsafe.Pointer, n uint32) int32

//go:wasmimport reshost_http_v1 close
//go:noescape
func importHTTPClose(h int32) int32

//go:wasmimport reshost_kv_v1 get
//go:noescape
func importKVGet(key unsafe.Pointer, klen uint32, buf unsafe.Pointer, n uint32) int32

//go:wasmimport reshost_kv_v1 put
//go:noescape
func importKVPut(key unsafe.Pointer, klen uint32, val unsafe.Pointer, vlen uint32, ttlMillis int64) int32

//go:wasmimport reshost_kv_v1 del
//go:noescape
func importKVDel(key unsafe.Pointer, klen uint32) int32

func at(b []byte) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b))
}

func atString(s string) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.StringData(s)), uint32(len(s))
}

func (host) req(buf []byte) int {
	p, n := at(buf)
	return int(importReq(p, n))
}

func (host) emit(kind abi.Kind, rec []byte) abi.Reply {
	p, n := at(rec)
	return abi.Reply(importEmit(int32(kind), p, n))
}

func (host) write(b []byte) abi.Reply {
	p, n := at(b)
	return abi.Reply(importWrite(p, n))
}

func (host) log(level Level, message string) {
	p, n := atString(message)
	importLog(int32(level), p, n)
}

func (host) configGet(path string, buf []byte) int {
	p, plen := atString(path)
	b, n := at(buf)
	return int(importConfigGet(p, plen, b, n))
}

func (host) fsStat(path string, buf []byte) int {
	p, plen := atString(path)
	b, n := at(buf)
	return int(importFSStat(p, plen, b, n))
}

func (host) fsOpen(path string) int {
	p, plen := atString(path)
	return int(importFSOpen(p, plen))
}

func (host) fsRead(h int32, off int64, buf []byte) int {
	b, n := at(buf)
	return int(importFSRead(h, off, b, n))
}

func (host) fsList(path, after string, buf []byte) int {
	p, plen := atString(path)
	a, alen := atString(after)
	b, n := at(buf)
	return int(importFSList(p, plen, a, alen, b, n))
}

func (host) fsClose(h int32) int { return int(importFSClose(h)) }

func (host) httpSend(req []byte) int {
	p, n := at(req)
	return int(importHTTPSend(p, n))
}

func (host) httpHead(h int32, buf []byte) int {
	b, n := at(buf)
	return int(importHTTPHead(h, b, n))
}

func (host) httpRead(h int32, buf []byte) int {
	b, n := at(buf)
	return int(importHTTPRead(h, b, n))
}

func (host) httpClose(h int32) int { return int(importHTTPClose(h)) }

func (host) kvGet(key string, buf []byte) int {
	k, klen := atString(key)
	b, n := at(buf)
	return int(importKVGet(k, klen, b, n))
}

func (host) kvPut(key string, value []byte, ttlMillis int64) int {
	k, klen := atString(key)
	v, vlen := at(value)
	return int(importKVPut(k, klen, v, vlen, ttlMillis))
}

func (host) kvDel(key string) int {
	k, klen := atString(key)
	return int(importKVDel(k, klen))
}
