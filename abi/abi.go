package abi

// Version names this ABI: the import module of the core functions and the value of [KeyABI] in a manifest.
const Version = "reshost_v1"

// Minor is the newest minor version that this package knows. Minor versions only add: fields, record kinds, optional
// exports, capability modules. A guest that needs an addition says so by [KeyMinMinor].
const Minor = 0

// Import modules. The core module needs no grant, and neither does config; every other one is a capability that the
// manifest declares and the operator grants.
const (
	Module       = Version
	ModuleConfig = "reshost_config_v1"
	ModuleFS     = "reshost_fs_v1"
	ModuleHTTP   = "reshost_http_v1"
	ModuleKV     = "reshost_kv_v1"
	ModuleSQL    = "reshost_sql_v1"
)

// Capability names, as they stand in a manifest's capabilities and in the operator's grants.
const (
	CapabilityConfig = "config"
	CapabilityFS     = "fs"
	CapabilityHTTP   = "http"
	CapabilityKV     = "kv"
	CapabilitySQL    = "sql"
)

// CapabilityModule returns the import module of a capability: reshost_NAME_v1.
func CapabilityModule(name string) string { return "reshost_" + name + "_v1" }

// Core imports, module [Module].
const (
	// ImportReq is req(buf i32, cap i32) -> i32.
	ImportReq = "req"
	// ImportEmit is emit(kind i32, ptr i32, len i32) -> i32.
	ImportEmit = "emit"
	// ImportWrite is write(ptr i32, len i32) -> i32.
	ImportWrite = "write"
	// ImportLog is log(level i32, ptr i32, len i32).
	ImportLog = "log"
)

// Functions of the capability modules.
const (
	// ImportConfigGet is get(path, plen, buf, cap) -> i32.
	ImportConfigGet = "get"

	// ImportFSStat is stat(path, plen, buf, cap) -> i32.
	ImportFSStat = "stat"
	// ImportFSOpen is open(path, plen) -> i32.
	ImportFSOpen = "open"
	// ImportFSRead is read(h, off i64, buf, cap) -> i32.
	ImportFSRead = "read"
	// ImportFSList is list(path, plen, after, alen, buf, cap) -> i32.
	ImportFSList = "list"
	// ImportFSClose is close(h) -> i32.
	ImportFSClose = "close"

	// ImportHTTPSend is send(ptr, len) -> i32.
	ImportHTTPSend = "send"
	// ImportHTTPHead is head(h, buf, cap) -> i32.
	ImportHTTPHead = "head"
	// ImportHTTPRead is read(h, buf, cap) -> i32.
	ImportHTTPRead = "read"
	// ImportHTTPClose is close(h) -> i32.
	ImportHTTPClose = "close"

	// ImportKVGet is get(key, klen, buf, cap) -> i32.
	ImportKVGet = "get"
	// ImportKVPut is put(key, klen, val, vlen, ttl_ms i64) -> i32.
	ImportKVPut = "put"
	// ImportKVDel is del(key, klen) -> i32.
	ImportKVDel = "del"

	// ImportSQLQuery is query(ptr, len) -> i32.
	ImportSQLQuery = "query"
	// ImportSQLRow is row(h, buf, cap) -> i32.
	ImportSQLRow = "row"
	// ImportSQLClose is close(h) -> i32.
	ImportSQLClose = "close"
)

// Exports of a guest, each () -> i32 and each returning a [Status], save the memory and the initializer.
const (
	ExportRead     = "rh_read"
	ExportList     = "rh_list"
	ExportComplete = "rh_complete"
	ExportPoll     = "rh_poll"
	ExportDescribe = "rh_describe"
	ExportInit     = "rh_init"

	// ExportMemory is the guest's one memory.
	ExportMemory = "memory"
	// ExportInitialize is () -> (), called once before anything else if it is there: a reactor's constructor.
	ExportInitialize = "_initialize"
	// ExportStart marks a command, which is not loaded: a guest is built as a reactor.
	ExportStart = "_start"
)

// ManifestSection is the custom section that holds the manifest, once.
const ManifestSection = "reshost.manifest"

// Config pointers that the host answers besides the operator's config object. The rest of the pointer is one reference
// token (RFC 6901 section 3).
const (
	// ConfigSchemes + NAME is the effective name of a scheme that the manifest calls NAME.
	ConfigSchemes = "/$schemes/"
	// ConfigRoots + NAME is the URI path prefix of the granted folder NAME, such as "/srv/docs".
	ConfigRoots = "/$roots/"
	// ConfigAllRoots is an object of all granted folders: the name of each and its URI path prefix.
	ConfigAllRoots = "/$roots"
)

// Limits that belong to the contract. All others are the host's configuration, and are met by an answer of emit or write.
const (
	// MaxRecord is the size of one record in bytes.
	MaxRecord = 64 << 10
	// MaxManifest is the size of a manifest in bytes.
	MaxManifest = 256 << 10
	// MaxState is the size of a guest's state in bytes.
	MaxState = 8 << 10
	// MaxJSON is the size in bytes of one JSON value inside a message.
	MaxJSON = 64 << 10
	// MaxJSONDepth is how deep such a value may nest.
	MaxJSONDepth = 16
	// MaxETag is the length of an etag in bytes.
	MaxETag = 256
	// MaxErrorMessage is where the host cuts an [Error]'s message, in bytes.
	MaxErrorMessage = 1 << 10
	// MaxLogLine is where the host cuts a log line, in bytes.
	MaxLogLine = 1 << 10
	// MaxHandles is how many handles a call may hold open, over all capabilities.
	MaxHandles = 64
	// MaxRepeated is how often a repeated field may appear in a message.
	MaxRepeated = 1 << 14
)
