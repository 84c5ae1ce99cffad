package reshost

// Plugin is what a guest serves. Fill it, pass it to [Register], and do not change it afterwards.
type Plugin struct {
	// Name identifies the plugin: letters, digits, '-', '_' and '.', 1 to 64 bytes. Required.
	Name string
	// Version is for people; free text.
	Version string
	// Schemes are the URI schemes of all URIs served, lower case. The operator may rename one: requests then carry the new
	// name, and [Call.Scheme] gives it for building URIs. Resources and Templates below always use the plugin's own name.
	// "*" means that the operator's config names the schemes. Required.
	Schemes []string

	// Resources are the direct resources. They stand first in the list.
	Resources []Resource
	// Templates are sets of resources. A URI that matches neither a direct resource nor a template never reaches the plugin.
	Templates []Template
	// List has the resources that are not in Resources; each must match a template. nil: there are no others.
	List ListFunc
	// Poll is called every PollMillis milliseconds while somebody watches, when a granted folder that the operator has the
	// host watch changes, and for a webhook. nil: nothing can be watched.
	Poll       PollFunc
	PollMillis int64
	// Init runs once an instance, before any call. It is the place to parse the config; nothing but config and log works in
	// it. An error ends the load with that text. It does not run when the plugin is packed. nil: nothing to do.
	Init func(c *InitCall) error

	// Capabilities are what the plugin asks the operator for. Using one that is not declared fails the load.
	Capabilities []Capability
	// Isolation is what the plugin needs: "" or "reset", "shared" (also the operator must grant it) or "fresh".
	Isolation string
	// ConfigSchema is a JSON Schema for the plugin's config, or empty. The reshost command checks the operator's config against it before
	// it loads the plugin, and names the place of a mistake in its file; reshosttest and other hosts do not, so that Init still
	// looks at what it reads.
	ConfigSchema string
	// MemoryBytes and TimeoutMillis are what a call needs; the operator's limits bound them. 0: the host's defaults.
	MemoryBytes   int64
	TimeoutMillis int64
	// Dynamic adds resources and templates that are known at load only. nil: there are none.
	Dynamic *Dynamic
}

// Resource describes a resource: a direct one in [Plugin.Resources], or an entry of a list.
type Resource struct {
	// URI is absolute, in the normal form of RFC 3986 section 6.2.2. Required.
	URI string
	// Name is for programs and, without a Title, for people. Required.
	Name string
	// Title and Description are for people and models.
	Title, Description string
	// MIMEType is a media type such as "text/markdown", or empty when unknown. A direct resource's body has it by default.
	MIMEType string
	// Size is the body's size, made by [Bytes]; the zero value: unknown.
	Size        Size
	Annotations *Annotations
	Icons       []Icon
	// Meta is a JSON object for `_meta`, or empty.
	Meta string

	// Read serves the resource. Required of a direct resource, unused in a list.
	Read ReadFunc
}

// Template describes a set of resources by an RFC 6570 template.
type Template struct {
	// URITemplate is such as "docs://{name}" or "file:///{+path}". Required.
	URITemplate string
	// Name is for programs and, without a Title, for people. Required.
	Name               string
	Title, Description string
	// MIMEType is set only where all resources of the template share it. Their bodies then have it by default.
	MIMEType    string
	Annotations *Annotations
	Icons       []Icon
	// Meta is a JSON object for `_meta`, or empty.
	Meta string
	// Vars are the variables that Read takes: exactly those of URITemplate, in any order.
	Vars []Var
	// Read serves a resource of the set. Required.
	Read ReadFunc
}

// Var declares a variable of a template.
type Var struct {
	Name string
	// Slash admits '/', '\', ".." and control characters (never NUL) in the decoded value where the expression's operator does
	// not. Without it such a URI is answered as not found before the plugin sees it.
	Slash bool
	// Complete proposes values; nil: none.
	Complete CompleteFunc
}

// Annotations are hints for clients.
type Annotations struct {
	// Audience holds "user", "assistant" or both.
	Audience []string
	// Priority is from 0 (optional) to 1 (required); nil: unsaid. It is sent with three decimals.
	Priority *float64
	// LastModifiedMillis is when the content last changed, in milliseconds since 1970 in UTC; 0: unknown.
	LastModifiedMillis int64
}

// Icon is an image for a list entry.
type Icon struct {
	// Src is an https or data URI. Required.
	Src, MIMEType string
	// Sizes are like "48x48" or "any".
	Sizes []string
	// Theme is "light", "dark" or empty.
	Theme string
}

// Capability is something outside the sandbox that the plugin asks for: [CapabilityFS] and so on.
type Capability struct {
	Name string
	// Reason tells the operator why, in a sentence. Required.
	Reason string
	// Optional: without the grant the plugin loads, and the capability's functions answer [CodeDenied].
	Optional bool
}

// Names of capabilities. The config needs neither declaration nor grant.
const (
	CapabilityFS   = "fs"
	CapabilityHTTP = "http"
	CapabilityKV   = "kv"
)

// Dynamic adds what is known at load only, such as the tables of a database.
type Dynamic struct {
	// Describe adds resources and templates to those of the Plugin. It runs at load and again after [Call.ListChanged], on
	// whatever instance. Granted capabilities work in it. The Read and Complete functions of what it adds are not kept:
	// a request for them comes to those below.
	Describe func(c *Call, d *Description) error
	// Read serves what Describe added; [ReadRequest.Template] says which template matched.
	Read ReadFunc
	// Complete completes the variables whose Var.Complete was set in Describe.
	Complete CompleteFunc
}

// Size is a body's size in bytes or, as its zero value, unknown. Make it with [Bytes].
type Size uint64

// Bytes returns a known size. A negative n is unknown.
func Bytes(n int64) Size {
	if n < 0 {
		return 0
	}
	return Size(n) + 1
}

// registration is what Register was called with.
type registration struct {
	plugin *Plugin
	twice  bool
}

// registered is set while the guest starts: Go has no other way to hand a value to exported functions.
var registered registration

// Register makes p the plugin of this guest and returns it. Call it once, from a package variable or an init function; a
// second call fails the load.
func Register(p *Plugin) *Plugin {
	registered.twice = registered.plugin != nil
	registered.plugin = p
	return p
}
