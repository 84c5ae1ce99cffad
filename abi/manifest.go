package abi

// Keys of the manifest, a JSON object. A key that is not listed here and does not begin with [KeyExtensionPrefix] is an
// error. README.md has the shape of each.
const (
	KeyABI          = "abi"
	KeyMinMinor     = "min_minor"
	KeyName         = "name"
	KeyVersion      = "version"
	KeySchemes      = "schemes"
	KeyResources    = "resources"
	KeyList         = "list"
	KeyTemplates    = "templates"
	KeyCapabilities = "capabilities"
	KeyLimits       = "limits"
	KeyIsolation    = "isolation"
	KeyDynamic      = "dynamic"
	KeyPollMillis   = "poll_ms"
	KeyConfigSchema = "config_schema"

	KeyExtensionPrefix = "x-"
)

// Keys inside resources and templates, named as the protocol names them. A template has KeyURITemplate and KeyVars in place
// of KeyURI and KeySize.
const (
	KeyURI         = "uri"
	KeyURITemplate = "uriTemplate"
	KeyTitle       = "title"
	KeyDescription = "description"
	KeyMIMEType    = "mimeType"
	KeySize        = "size"
	KeyIcons       = "icons"
	KeyAnnotations = "annotations"
	KeyMeta        = "_meta"
	KeyVars        = "vars"
)

// Keys of one entry of KeyVars.
const (
	KeySlash    = "slash"
	KeyComplete = "complete"
)

// Keys of one entry of KeyCapabilities, besides KeyName.
const (
	KeyReason   = "reason"
	KeyOptional = "optional"
)

// Keys of KeyLimits: what the guest needs, which the operator's limits bound.
const (
	// KeyMemory is the memory that the guest needs, in bytes.
	KeyMemory = "memory"
	// KeyTimeoutMillis is how long a call may take, in milliseconds.
	KeyTimeoutMillis = "timeout_ms"
)

// Keys of an icon and of annotations.
const (
	KeySrc          = "src"
	KeySizes        = "sizes"
	KeyTheme        = "theme"
	KeyAudience     = "audience"
	KeyPriority     = "priority"
	KeyLastModified = "lastModified"
)

// Values of KeyIsolation. Absent means IsolationReset.
const (
	// IsolationReset: memory and globals go back to what they were after rh_init, after each call.
	IsolationReset = "reset"
	// IsolationShared: an instance is reused as it is. A need only: the operator grants it.
	IsolationShared = "shared"
	// IsolationFresh: each call has an instance of its own.
	IsolationFresh = "fresh"
)

// AnyScheme in KeySchemes means that the operator's config names the schemes.
const AnyScheme = "*"
