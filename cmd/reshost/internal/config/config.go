package config

import "fmt"

// Version is the version of the file's format that this build knows.
const Version = 1

// Config is the whole file. The tags are the table that everything in this package works from:
//
//	key      the key in the file
//	doc      what it means, for the reference page and the schema
//	default  the value of an absent key, as it would be written
//	example  a value for the reference page, where the default says too little
//	enum     the values allowed, separated by |
//	min, max bounds of a number
//	off      the key also takes the word off, which decodes to -1
//	required the key must be there
//	soon     the key is known and cannot be used yet
type Config struct {
	Version    int               `key:"version" required:"true" example:"1" doc:"Version of the file's format. This build knows version 1."`
	Server     Server            `key:"server" doc:"What clients see and where they connect."`
	Admin      *Admin            `key:"admin" doc:"A second endpoint for health and operations; off unless it is here."`
	Provenance bool              `key:"provenance" doc:"Says in the _meta of each part of a read, under io.github.reshost/provenance, where it comes from: server, plugin, version, revision, time, and whether it is stale."`
	Log        Log               `key:"log" doc:"What is logged, on stderr."`
	StateDir   Path              `key:"state_dir" example:"./state" doc:"Folder for what survives a restart: the key that seals cursors, and compiled plugins. Default: $STATE_DIRECTORY where systemd sets it, else reshost in the user's cache folder."`
	Limits     Limits            `key:"limits" doc:"Bounds on everything that crosses a border. All are on by default; off switches one off."`
	Secrets    map[string]Secret `key:"secrets" example:"{ api: \"${env:API_TOKEN}\" }" doc:"Secrets by name, each taken from the environment with ${env:NAME} or from a file with ${file:path}. They are used as ${secret:NAME}, which server.keys, webhook.secret and the headers of grants.http may hold."`
	Plugins    []Plugin          `key:"plugins" doc:"The plugins that serve resources, in the order in which their resources are listed."`

	file string
	pos  map[string]Pos
	// short are the keys of short forms that became long ones.
	short map[string]Pos
}

// Server is the `server` section.
type Server struct {
	Name      string   `key:"name" default:"reshost" doc:"Name of this server, for programs."`
	Title     string   `key:"title" doc:"Name of this server, for people."`
	Listen    string   `key:"listen" default:"127.0.0.1:8642" example:"unix:/run/reshost.sock" doc:"Address of the HTTP server: host:port, or unix:PATH for a socket."`
	Path      string   `key:"path" default:"/mcp" doc:"Path of the MCP endpoint."`
	PublicURL string   `key:"public_url" example:"https://mcp.acme.test/mcp" doc:"The endpoint's URL as clients know it, where a proxy stands before reshost. Its host is then served, and pages of its origin may call."`
	Origins   []string `key:"origins" example:"[https://app.acme.test]" doc:"Web origins that may call the server, besides pages of the server's own loopback address. A request without an Origin header does not come from a page and passes."`
	TLS       *TLS     `key:"tls" doc:"Serves HTTPS with this certificate, TLS 1.2 or later. Its files are read again when they have changed, within 10 seconds, and on SIGHUP; files that cannot be used leave the certificate before in place."`
	PageSize  int      `key:"page_size" default:"1000" min:"1" max:"1000" doc:"Most items in a page of a list."`
	Revisions []string `key:"revisions" enum:"2026-07-28|2025-11-25|2025-06-18|2025-03-26|2024-11-05" doc:"Protocol revisions that are served. Empty: all that this build knows."`
	Keys      []Secret `key:"keys" example:"[\"${file:keys/current}\"]" doc:"Keys for what clients hold for the server, cursors and the state of reads that ask them for more, each 32 bytes in base64. The first seals, the others still open, so that a key can be changed. Absent: one is made and kept in state_dir."`
}

// TLS is the `server.tls` section.
type TLS struct {
	Cert Path `key:"cert" required:"true" doc:"The server's certificate, then its chain, PEM."`
	Key  Path `key:"key" required:"true" doc:"Private key of the certificate, PEM, not encrypted."`
}

// Admin is the `admin` section.
type Admin struct {
	Listen string `key:"listen" required:"true" example:"127.0.0.1:8643" doc:"Address of the operations endpoint: a loopback host:port, or unix:PATH for a socket. Whoever reaches it can ask what is cached for whom."`
}

// Log is the `log` section.
type Log struct {
	Level  string `key:"level" default:"info" enum:"trace|debug|info|warn|error|off" doc:"Least level that is logged."`
	Format string `key:"format" default:"text" enum:"text|json" doc:"Form of a line."`
}

// Limits is the `limits` section. Zero means the host's default, -1 off.
type Limits struct {
	RequestBody       Bytes    `key:"request_body" default:"4MiB" off:"true" doc:"Size of a request."`
	JSONDepth         int      `key:"json_depth" default:"64" min:"1" off:"true" doc:"Nesting of a request's JSON."`
	URI               Bytes    `key:"uri" default:"8KiB" doc:"Length of a URI; at most 8KiB."`
	Meta              Bytes    `key:"meta" default:"64KiB" off:"true" doc:"Size of the _meta that a plugin is given or gives."`
	PageBytes         Bytes    `key:"page_bytes" default:"1MiB" off:"true" doc:"Size of a page of a list."`
	ReadItems         int      `key:"read_items" default:"100" min:"1" off:"true" doc:"Items in one read."`
	ReadBytes         Bytes    `key:"read_bytes" default:"16MiB" off:"true" doc:"Bytes of one read."`
	Call              Duration `key:"call" default:"10s" off:"true" doc:"Time of one call of a plugin, its host calls included."`
	GuestMemory       Bytes    `key:"guest_memory" default:"64MiB" off:"true" doc:"Memory of one instance of a plugin."`
	PluginMemory      Bytes    `key:"plugin_memory" default:"512MiB" off:"true" doc:"Memory of all instances of one plugin."`
	TotalMemory       Bytes    `key:"total_memory" default:"2GiB" off:"true" doc:"Memory of all instances of all plugins."`
	Instances         int      `key:"instances" default:"32" min:"1" doc:"Instances of one plugin."`
	Queue             int      `key:"queue" default:"256" min:"1" off:"true" doc:"Calls that wait for an instance of one plugin."`
	QueueWait         Duration `key:"queue_wait" default:"2s" off:"true" doc:"How long a call waits for an instance."`
	CompileTime       Duration `key:"compile_time" default:"60s" off:"true" doc:"Time of compiling one plugin, in a process of its own."`
	CompileMemory     Bytes    `key:"compile_memory" default:"1GiB" off:"true" doc:"Memory of compiling one plugin."`
	CompiledCode      Bytes    `key:"compiled_code" default:"1GiB" off:"true" doc:"Size of the compiled plugins that are kept in state_dir. What was used longest ago goes first."`
	Cache             Bytes    `key:"cache" default:"64MiB" off:"true" doc:"Size of the results that are kept in memory. off: none are."`
	CacheEntry        Bytes    `key:"cache_entry" default:"4MiB" off:"true" doc:"Size of one of them; a larger one is served and not kept."`
	Record            Bytes    `key:"record" default:"64KiB" soon:"true" doc:"Size of one record from a plugin."`
	State             Bytes    `key:"state" default:"8KiB" doc:"Size of the state that a plugin leaves with a client between two rounds of a read, sealed; at most 8KiB."`
	Input             Duration `key:"input" default:"10m" off:"true" doc:"How long a client may take to answer what a read asks of it."`
	EventsCall        int      `key:"events_per_call" default:"1000" min:"1" off:"true" doc:"Changes reported during one call."`
	EventsRate        int      `key:"events_per_second" default:"200" min:"1" off:"true" doc:"Changes reported by one plugin."`
	LogRate           int      `key:"log_lines_per_second" default:"50" min:"1" off:"true" doc:"Log lines of one plugin."`
	Requests          int      `key:"requests" default:"1024" min:"1" off:"true" doc:"Requests at the same time."`
	PrincipalRequests int      `key:"requests_per_principal" default:"64" min:"1" off:"true" doc:"Requests at the same time of one caller: one address, where callers are not identified. Loopback is not counted."`
	RequestRate       int      `key:"requests_per_second" default:"200" soon:"true" doc:"Requests of one caller."`
	CompletionRate    int      `key:"completions_per_second" default:"20" soon:"true" doc:"Completions of one caller."`
	Streams           int      `key:"streams" default:"10000" min:"1" off:"true" doc:"Subscription streams at the same time."`
	PrincipalStreams  int      `key:"streams_per_principal" default:"100" min:"1" off:"true" doc:"Subscription streams of one caller."`
	StreamURIs        int      `key:"uris_per_stream" default:"1000" min:"1" off:"true" doc:"URIs watched by one stream."`
	PluginURIs        int      `key:"watched_per_plugin" default:"10000" min:"1" off:"true" doc:"Different URIs watched at one plugin."`
	Sessions          int      `key:"sessions" default:"1000" min:"1" off:"true" doc:"Sessions of clients of older revisions."`
	SessionIdle       Duration `key:"session_idle" default:"30m" off:"true" doc:"How long such a session may idle."`
	Write             Duration `key:"write" default:"10s" off:"true" doc:"How long a response may make no progress."`
}

// Plugin is one entry of `plugins`.
type Plugin struct {
	Name            string            `key:"name" required:"true" example:"handbook" doc:"Name of this entry: letters, digits, -, _ and ., at most 64."`
	Source          string            `key:"source" required:"true" example:"builtin:docs" doc:"Where the plugin comes from: builtin:NAME for one that reshost carries (see reshost plugin list), or file:PATH for a .wasm file."`
	Optional        bool              `key:"optional" doc:"Start without this plugin when its checks fail, such as a file that is not there or a grant that it needs; the log says so. Without it they stop the start. A plugin that fails later, when it is compiled or started, answers unavailable and is tried again, optional or not."`
	Schemes         map[string]string `key:"schemes" example:"{ docs: handbook }" doc:"Renames the plugin's URI schemes: its own name to the one that clients see. A plugin that serves any scheme is told here which."`
	Only            []string          `key:"only" example:"[\"handbook://\"]" doc:"Claims only URIs with one of these prefixes, so that two plugins can share a scheme."`
	Isolation       string            `key:"isolation" enum:"reset|shared|fresh" doc:"How calls are kept apart: reset restores the plugin's memory after each call, fresh starts a new instance for each, shared lets calls meet. Default: what the plugin asks for, at least reset."`
	AllowWebSchemes bool              `key:"allow_web_schemes" doc:"Lets the plugin claim http and https, which are for resources that clients load themselves."`
	ClientLogs      bool              `key:"client_logs" doc:"Sends the plugin's log lines to clients that ask for them."`
	Config          JSON              `key:"config" example:"{ title: Handbook }" doc:"The plugin's own configuration; its README says what it takes, and what its manifest's schema does not allow is an error. The plugin reads all of it, so no secret may stand here."`
	Grants          Grants            `key:"grants" doc:"What the plugin may use. Nothing is granted by default."`
	Webhook         *Webhook          `key:"webhook" doc:"Lets a signed HTTP request, POST /hooks/NAME on the server's address, tell the plugin of changes. The plugin must ask to be polled."`
	Poll            Duration          `key:"poll" doc:"How often the plugin is asked for changes while something is watched; by default as it says itself. At least 100ms."`
	Limits          PluginLimits      `key:"limits" doc:"Narrower limits for this plugin."`
	Cache           *Cache            `key:"cache" doc:"How long results are reused, here and by clients."`
}

// Grants is `plugins[].grants`.
type Grants struct {
	FS        *FSGrant   `key:"fs" doc:"Read-only access to folders."`
	HTTP      *HTTPGrant `key:"http" doc:"HTTP requests to the addresses named here."`
	Meta      []string   `key:"meta" doc:"Keys of a request's _meta that the plugin may see. Its results are then private."`
	Principal []string   `key:"principal" enum:"issuer|subject|tenant|scope|claims" doc:"What the plugin may know about the caller. Its results are then private."`
	KV        *KVGrant   `key:"kv" doc:"A store of the plugin's own, in memory. It outlives a reload of the plugin, and ends with the server."`
}

// FSGrant is `plugins[].grants.fs`. After loading, Root is always empty: the short form has become Roots["main"].
type FSGrant struct {
	Root  Path              `key:"root" example:"./docs" doc:"Short for one root named main."`
	Roots map[string]FSRoot `key:"roots" example:"{ main: { path: ./docs, as: /docs } }" doc:"The folders, by the name that the plugin knows."`
	Hide  []string          `key:"hide" example:"[\"*.tmp\", \".*\"]" doc:"Patterns of names that the plugin does not see; one with a / is matched against the path below the root. Default: names that begin with a dot; [] hides nothing."`
	Watch bool              `key:"watch" soon:"true" doc:"Watches the folders for changes."`
}

// FSRoot is one folder.
type FSRoot struct {
	Path Path   `key:"path" required:"true" example:"./docs" doc:"The folder."`
	As   string `key:"as" example:"/docs" doc:"The path under which clients see the folder, in place of its real one."`
}

// HTTPGrant is `plugins[].grants.http`.
type HTTPGrant struct {
	Allow []HTTPAllow `key:"allow" required:"true" doc:"The requests that are allowed. The first entry that covers a request counts; all others are refused, redirects too."`
	CIDR  []string    `key:"cidr" example:"[10.0.0.0/8]" doc:"Networks that are reachable although they are not public. Addresses are checked when they are dialled, whatever name led there."`
	CA    Path        `key:"ca" doc:"Certificate authorities to trust beside the system's, PEM."`
}

// HTTPAllow allows some requests.
type HTTPAllow struct {
	Methods []string          `key:"methods" example:"[GET]" doc:"Methods. Default: GET and HEAD."`
	URL     string            `key:"url" required:"true" example:"https://api.test/v1/" doc:"Prefix of the URLs: the path covers itself and what is below it."`
	Headers map[string]Secret `key:"headers" example:"{ Authorization: \"Bearer ${secret:api}\" }" doc:"Header lines that the host adds, save after a redirect to another origin. The plugin does not see them: secrets are blanked out of answers."`
}

// KVGrant is `plugins[].grants.kv`.
type KVGrant struct {
	Quota Bytes `key:"quota" default:"16MiB" doc:"Most bytes stored: keys, values, and 128 bytes an entry. What one caller stores is at most a half."`
}

// Webhook is `plugins[].webhook`.
type Webhook struct {
	Scheme string `key:"scheme" required:"true" enum:"standard|github" doc:"How requests are signed: as standardwebhooks.com says (webhook-id, webhook-timestamp, webhook-signature), or as GitHub does (X-Hub-Signature-256, X-GitHub-Delivery)."`
	Secret Secret `key:"secret" required:"true" example:"\"${secret:hook}\"" doc:"Key of the signature, at least 16 bytes; for standard in base64, after whsec_ or not."`
}

// PluginLimits is `plugins[].limits`. Zero takes the value of Limits.
type PluginLimits struct {
	Timeout Duration `key:"timeout" example:"2s" doc:"Time of one call. Default: limits.call."`
	Memory  Bytes    `key:"memory" example:"32MiB" doc:"Memory of one instance. Default: limits.guest_memory."`
}

// Cache is `plugins[].cache`.
type Cache struct {
	TTL          Duration `key:"ttl" doc:"Lifetime of a result for which the plugin says none. 0: not to be reused."`
	Min          Duration `key:"min" doc:"Least lifetime."`
	Max          Duration `key:"max" default:"24h" off:"true" doc:"Greatest lifetime."`
	Stale        Duration `key:"stale" doc:"How long after its lifetime a result is still served while a new one is fetched. What the plugin reported as changed is not."`
	StaleIfError Duration `key:"stale_if_error" doc:"How long after its lifetime a result is still served where the plugin fails."`
	Missing      Duration `key:"missing" doc:"How long it is remembered that a resource does not exist, for each caller; at most 1m."`
	Public       []string `key:"public" doc:"Schemes whose results may be shared between callers when the plugin says so."`
}

// File returns the path that the configuration was loaded from, as it was given; empty for one made by [ForRoot].
func (c *Config) File() string { return c.file }

// Has reports whether a key stands in the file as it was written, such as "plugins[0].grants.fs.root".
func (c *Config) Has(key string) bool {
	_, short := c.short[key]
	_, ok := c.pos[key]
	return short || ok
}

// At returns "file:line:column" of a key such as "plugins[0].source", or of its nearest parent that stands in the file,
// for messages of the layers that use the values.
func (c *Config) At(key string) (Pos, bool) {
	if p, ok := c.short[key]; ok {
		return p, true
	}
	for k := key; k != ""; k = parentKey(k) {
		if p, ok := c.pos[k]; ok {
			return p, true
		}
	}
	return Pos{}, false
}

// Errorf returns an error about a key, with its place in the file.
func (c *Config) Errorf(key, format string, args ...any) *Error {
	if c.file == "" {
		return &Error{File: "--root", Message: fmt.Sprintf(format, args...)}
	}
	col := collector{file: c.file}
	pos, _ := c.At(key)
	col.add(pos, key, format, args...)
	return col.errs[0]
}
