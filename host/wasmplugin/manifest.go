package wasmplugin

import (
	"time"

	"github.com/reshost/reshost/host/provider"
)

// Manifest is what a plugin says about itself, in the custom section "reshost.manifest" of its module. URIs and schemes
// are the plugin's own, before the operator renames any.
type Manifest struct {
	// ABI is "reshost_v1". MinMinor is the least minor version of the host's side that the plugin needs.
	ABI      string
	MinMinor int
	// Name and Version of the plugin.
	Name, Version string
	// Schemes are the URI schemes that the plugin serves. "*" leaves the names to the operator.
	Schemes []string
	// Resources are the direct resources and Templates the templates, in the order in which they are listed.
	Resources []provider.Resource
	Templates []provider.Template
	// List says that the plugin lists more resources than Resources.
	List bool
	// Capabilities that the plugin imports.
	Capabilities []Capability
	// Limits are what the plugin needs; the operator's bound them.
	Limits ManifestLimits
	// Isolation is what the plugin needs: "", "reset", "fresh" or "shared".
	Isolation string
	// Dynamic says that resources and templates are asked of the running plugin.
	Dynamic bool
	// Poll is the interval at which the plugin wants to look for changes; 0: never.
	Poll time.Duration
	// ConfigSchema is a JSON Schema of the plugin's configuration; nil: none given. [Runtime.Load] does not check [Config.Config] against
	// it: a program that takes configuration from people does, since it knows where the mistake stands. The reshost command does.
	ConfigSchema provider.JSON
}

// Capability is something outside of the sandbox that a plugin asks for.
type Capability struct {
	// Name is that of the import module reshost_NAME_v1: "config", "fs", "http", "kv" or "sql".
	Name string
	// Reason is a sentence for the operator.
	Reason string
	// Optional says that the plugin works without it.
	Optional bool
}

// ManifestLimits are what a plugin says about its own use. Zero: not said.
type ManifestLimits struct {
	// Timeout is how long a call may take. It counts where it is shorter than the operator's.
	Timeout time.Duration
	// Memory is what an instance needs, in bytes. Where the operator's limit is less, the plugin is not loaded.
	Memory int64
}
