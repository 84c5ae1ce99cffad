package wasmplugin

import (
	"log/slog"
	"runtime"
	"time"
)

// Options configure a [Runtime]. The zero value, and a nil pointer, give the defaults.
type Options struct {
	// Logger gets the plugins' log lines, each with the attribute "plugin", and the runtime's own. nil discards them.
	Logger *slog.Logger
	// CacheDir is a folder for compiled code. It is made if it is missing, with mode 0700, and refused if others can write
	// to it: whoever can write there can run code in this process. Empty: nothing is kept on disk.
	CacheDir string
	// CacheBytes bounds what is kept there, by whatever process. What was used longest ago goes first. 0 is 1 GiB; negative is
	// no bound.
	CacheBytes int64
	// MaxMemory bounds the guest memory of all plugins together, in bytes. 0 is 2 GiB; negative is no bound.
	MaxMemory int64
	// Compiler compiles in another process, where time and memory are bounded. nil: this process compiles, which nothing can
	// interrupt: for plugins that one has built oneself.
	Compiler Compiler
	// CompileTimeout bounds the compiling of one module. 0 is 60 s; negative is no bound. Without a Compiler the
	// plugin fails then, while the abandoned compilation runs to its end.
	CompileTimeout time.Duration
	// CompileMemory bounds what a Compiler takes for one module, in bytes. 0 is 1 GiB; negative is no bound.
	CompileMemory int64
	// CompileJobs is how many modules are compiled at once. 0 is one per core.
	CompileJobs int
}

// Default limits of a runtime and of a plugin.
const (
	defaultMaxMemory      = 2 << 30
	defaultCacheBytes     = 1 << 30
	defaultCompileTimeout = 60 * time.Second
	defaultCompileMemory  = 1 << 30

	defaultTimeout       = 10 * time.Second
	defaultMemory        = 64 << 20
	defaultTotalMemory   = 512 << 20
	defaultInstances     = 32
	defaultQueue         = 256
	defaultQueueWait     = 2 * time.Second
	defaultPageItems     = 1000
	defaultPageBytes     = 1 << 20
	defaultContents      = 100
	defaultReadBytes     = 16 << 20
	defaultLogLines      = 50
	defaultEvents        = 1000
	defaultEventRate     = 200
	defaultFolderEntries = 100_000
)

func (o *Options) withDefaults() Options {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	setDefault(&c.MaxMemory, defaultMaxMemory)
	setDefault(&c.CacheBytes, defaultCacheBytes)
	setDefault(&c.CompileTimeout, defaultCompileTimeout)
	setDefault(&c.CompileMemory, defaultCompileMemory)
	if c.CompileJobs <= 0 {
		c.CompileJobs = runtime.GOMAXPROCS(0)
	}
	return c
}

// Config says how one plugin is loaded: what the operator decides, against what the plugin asks for in its [Manifest].
type Config struct {
	// Name identifies the plugin in the host: letters, digits, '-', '_' and '.', 1 to 64 bytes. Empty takes the manifest's.
	Name string
	// Source says where Wasm came from, for messages, such as "file:./docs.wasm".
	Source string
	// Wasm is the module with its manifest section. Load does not change or keep it.
	Wasm []byte
	// Schemes renames URI schemes: the plugin's name for a scheme to the effective one. A scheme that is not named keeps its
	// name. Where the manifest claims "*", the names here are claimed beside the others.
	Schemes map[string]string
	// Only narrows the claim to URIs with one of these prefixes (effective names).
	Only []string
	// Isolation is how instances are reused: "reset" (the default, also for ""), "fresh" or "shared". See the package
	// documentation. Only this field grants "shared".
	Isolation string
	// Config is the JSON object that the guest reads through reshost_config_v1. nil is an empty object.
	Config []byte
	// Grants are the capabilities that the plugin gets. The zero value grants none.
	Grants Grants
	// Poll is how often a plugin that wants to be polled is asked for changes while something is watched, give or take a tenth.
	// 0 is what its manifest says; negative: never, and nothing of it can be watched. At least 100 ms.
	Poll time.Duration
	// Limits of this plugin. The zero value gives the defaults.
	Limits Limits
	// AllowWebSchemes lets the plugin claim http and https, which clients are entitled to load by themselves.
	AllowWebSchemes bool
}

// Grants are the capabilities that a plugin gets. What is not granted is denied.
type Grants struct {
	// FS grants reshost_fs_v1; nil denies it.
	FS *FSGrant
	// HTTP grants reshost_http_v1; nil denies it.
	HTTP *HTTPGrant
	// KV grants reshost_kv_v1; nil denies it.
	KV *KVGrant
	// Meta are the keys of a request's `_meta` that the plugin sees. With any, results are never shared between callers.
	Meta []string
	// Principal are the facts about the caller that the plugin sees: "issuer", "subject", "tenant", "scope", "claims". With
	// any, results are never shared between callers.
	Principal []string
}

// FSGrant is read access to files below some roots.
type FSGrant struct {
	// Roots by the name that the plugin uses for them: letters, digits, '-', '_' and '.', 1 to 64 bytes.
	Roots map[string]FSRoot
	// Hide are patterns of [path.Match] for the names that do not exist for the plugin; a pattern with a '/' is
	// matched against the path below the root. nil hides dotfiles (".*"); empty and not nil hides nothing.
	Hide []string
	// Watch says that the host may watch the roots for changes.
	Watch bool
}

// HTTPGrant is HTTP requests to some URLs. Addresses are checked when they are dialled: those that are not public are refused
// unless CIDR has them, whatever name led there.
type HTTPGrant struct {
	// Allow are the requests that are allowed: the first that covers a request counts, and redirects are held against it too.
	Allow []HTTPAllow
	// CIDR are networks that are reachable although they are not public, such as "10.0.0.0/8".
	CIDR []string
	// CA are certificate authorities to trust beside the system's, PEM; nil: none.
	CA []byte
	// MaxBody bounds an answer's body after decompression, in bytes. 0 is 16 MiB; negative is no bound.
	MaxBody int64
}

// HTTPAllow allows the requests below one URL.
type HTTPAllow struct {
	// Methods in upper case. Empty: GET and HEAD.
	Methods []string
	// URL is a prefix, such as "https://api.test/v1/". Its path covers itself and what is below it.
	URL string
	// Headers are sent with each of the requests, by name. After a redirect to another origin they are not.
	Headers map[string]HTTPHeader
}

// HTTPHeader is the value of a header that the plugin does not see.
type HTTPHeader struct {
	Value string
	// Secrets are the parts of Value that are blanked out of answers, as they are and in the usual encodings.
	Secrets []string
}

// KVGrant is a store of the plugin's own. What a request writes its caller alone reads; what a poll writes all callers read.
// Values outlive a reload of the plugin, under the same name, and end with the Runtime.
type KVGrant struct {
	// Quota bounds the store, in bytes: keys, values, and 128 bytes an entry. One caller has at most a half. 0 is 16 MiB.
	Quota int64
}

// FSRoot is one granted folder.
type FSRoot struct {
	// Path is the folder on this machine. It must exist when the plugin is loaded.
	Path string
	// As is the prefix of URI paths that stand for the root, such as "/docs". Empty: the folder's absolute path.
	As string
}

// Limits of one plugin. In each field zero is the default and a negative value lifts the limit, save where it says
// otherwise.
type Limits struct {
	// Timeout bounds a call, host calls included, and the start of an instance. 10 s.
	Timeout time.Duration
	// Memory bounds the memory of an instance, in bytes, rounded down to pages of 64 KiB. 64 MiB; at most 4 GiB.
	Memory int64
	// TotalMemory bounds the memory of all instances of the plugin, in bytes. 512 MiB.
	TotalMemory int64
	// Instances bounds how many instances there are at once, and so how many calls run. 32; cannot be lifted.
	Instances int
	// Queue bounds how many calls wait for an instance. 256; negative: none waits.
	Queue int
	// QueueWait bounds how long a call waits for an instance. 2 s.
	QueueWait time.Duration
	// PageItems and PageBytes bound a page of a list: items, and bytes of their records. 1,000 and 1 MiB.
	PageItems int
	PageBytes int64
	// Contents and ReadBytes bound a read: parts, and bytes of their bodies. 100 and 16 MiB.
	Contents  int
	ReadBytes int64
	// LogLines bounds the plugin's log lines a second. 50.
	LogLines int
	// Events bounds the changes that one call reports, EventRate those of the plugin a second. 1,000 and 200. Above either
	// everything that is watched counts as changed, once.
	Events    int
	EventRate int
	// FolderEntries bounds the entries of a folder that fs.list reads; a larger folder is too_large. 100,000: reading a
	// folder costs about 100 bytes an entry, for each call of fs.list.
	FolderEntries int
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.Timeout, defaultTimeout)
	setDefault(&l.Memory, defaultMemory)
	setDefault(&l.TotalMemory, defaultTotalMemory)
	if l.Instances <= 0 {
		l.Instances = defaultInstances
	}
	setDefault(&l.Queue, defaultQueue)
	setDefault(&l.QueueWait, defaultQueueWait)
	setDefault(&l.PageItems, defaultPageItems)
	setDefault(&l.PageBytes, defaultPageBytes)
	setDefault(&l.Contents, defaultContents)
	setDefault(&l.ReadBytes, defaultReadBytes)
	setDefault(&l.LogLines, defaultLogLines)
	setDefault(&l.Events, defaultEvents)
	setDefault(&l.EventRate, defaultEventRate)
	setDefault(&l.FolderEntries, defaultFolderEntries)
	return l
}

// setDefault replaces the zero value. A negative value, "no limit", stays.
func setDefault[T int | int64 | time.Duration](v *T, d T) {
	if *v == 0 {
		*v = d
	}
}
