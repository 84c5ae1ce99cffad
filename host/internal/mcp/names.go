package mcp

// Methods.
const (
	methodDiscover      = "server/discover"
	methodInitialize    = "initialize"
	methodListResources = "resources/list"
	methodListTemplates = "resources/templates/list"
	methodRead          = "resources/read"
	methodComplete      = "completion/complete"
	methodPing          = "ping"
	methodSetLevel      = "logging/setLevel"
	methodListen        = "subscriptions/listen"
	methodSubscribe     = "resources/subscribe"
	methodUnsubscribe   = "resources/unsubscribe"
)

// Notifications.
const (
	notifyCancelled = "notifications/cancelled"
	notifyProgress  = "notifications/progress"
	notifyMessage   = "notifications/message"

	notifyAcknowledged = "notifications/subscriptions/acknowledged"
	notifyUpdated      = "notifications/resources/updated"
	notifyListChanged  = "notifications/resources/list_changed"
)

// Keys of a request's _meta (rule P1).
const (
	metaVersion      = metaPrefix + "protocolVersion"
	metaCapabilities = metaPrefix + "clientCapabilities"
	metaClientInfo   = metaPrefix + "clientInfo"
	metaLogLevel     = metaPrefix + "logLevel"
	metaServerInfo   = metaPrefix + "serverInfo"
	metaSubscription = metaPrefix + "subscriptionId"
	metaToken        = "progressToken"
	metaPrefix       = "io.modelcontextprotocol/"
)

// Error codes that the protocol adds to those of JSON-RPC.
const (
	codeHeaderMismatch     = -32020
	codeMissingCapability  = -32021
	codeUnsupportedVersion = -32022
	// codeLegacyNotFound is sent to legacy clients alone (rule R2).
	codeLegacyNotFound = -32002
)

// Names of HTTP headers, for messages.
const (
	HeaderVersion = "MCP-Protocol-Version"
	HeaderMethod  = "Mcp-Method"
	HeaderName    = "Mcp-Name"
	HeaderSession = "Mcp-Session-Id"
)
