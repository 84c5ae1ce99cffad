package abi

// Status is what an export returns. Values that are not listed count as StatusInternal. A capability's function returns
// it negated.
type Status int32

const (
	// StatusOK: done. A read without a Content record counts as internal.
	StatusOK Status = 0
	// StatusNotFound: no such resource, file, key.
	StatusNotFound Status = 1
	// StatusInvalid: the request cannot be served as it was asked.
	StatusInvalid Status = 2
	// StatusDenied: the caller may not; of a capability: it is not granted.
	StatusDenied Status = 3
	// StatusUnavailable: not now; an Error record may say when to try again.
	StatusUnavailable Status = 4
	// StatusInternal: a fault of the guest.
	StatusInternal Status = 5
	// StatusTooLarge: a limit on size was met.
	StatusTooLarge Status = 6
	// StatusUnsupported: the guest, or the host, does not do this.
	StatusUnsupported Status = 7
	// StatusInputRequired: the client is asked for more; needs an Input or a State record. Only of a read.
	StatusInputRequired Status = 8
	// StatusNotModified: what the request's if_etag names still holds. Only of a read that carried one.
	StatusNotModified Status = 9
)

var statusNames = [...]string{
	"ok", "not_found", "invalid", "denied", "unavailable", "internal", "too_large", "unsupported", "input_required", "not_modified",
}

// String returns the status's name, and "internal" for a value that is not listed.
func (s Status) String() string {
	if s < 0 || int(s) >= len(statusNames) {
		return statusNames[StatusInternal]
	}
	return statusNames[s]
}

// Kind is the kind of a record, the first argument of emit.
type Kind int32

// Record kinds. Number 2 is reserved.
const (
	KindResource    Kind = 1
	KindCursor      Kind = 3
	KindContent     Kind = 4
	KindValue       Kind = 5
	KindError       Kind = 6
	KindInput       Kind = 7
	KindState       Kind = 8
	KindUpdated     Kind = 9
	KindListChanged Kind = 10
	KindInfo        Kind = 11
	KindManifest    Kind = 12
	KindProgress    Kind = 13
)

var kindNames = [...]string{
	1: "RESOURCE", 3: "CURSOR", 4: "CONTENT", 5: "VALUE", 6: "ERROR", 7: "INPUT", 8: "STATE", 9: "UPDATED",
	10: "LIST_CHANGED", 11: "INFO", 12: "MANIFEST", 13: "PROGRESS",
}

// String returns the kind's name as the specification writes it, and "" for an unknown one.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return ""
	}
	return kindNames[k]
}

// Legal reports whether a record of this kind may be emitted from export.
func (k Kind) Legal(export string) bool {
	if k < 0 || int(k) >= len(kindNames) || kindNames[k] == "" {
		return false
	}
	return legal(export)&(1<<uint(k)) != 0
}

// legal returns the set of kinds that may be emitted from export, a bit each.
func legal(export string) uint32 {
	const changes = 1<<KindUpdated | 1<<KindListChanged
	switch export {
	case ExportRead:
		return changes | 1<<KindContent | 1<<KindInput | 1<<KindState | 1<<KindError | 1<<KindProgress
	case ExportList:
		return changes | 1<<KindResource | 1<<KindCursor | 1<<KindInfo | 1<<KindError
	case ExportComplete:
		return changes | 1<<KindValue | 1<<KindInfo | 1<<KindError
	case ExportPoll:
		return changes | 1<<KindState | 1<<KindInfo
	case ExportDescribe:
		return 1 << KindManifest
	case ExportInit:
		return 1 << KindError
	}
	return 0
}

// Reply is what emit and write return.
type Reply int32

const (
	// ReplyContinue: the record was taken; go on.
	ReplyContinue Reply = 0
	// ReplyStop: a limit is reached or the caller is gone. This record was not taken; CURSOR, INFO and ERROR still are.
	ReplyStop Reply = 1
	// ReplyUnknown: the host does not know this kind and ignored the record.
	ReplyUnknown Reply = 2
	// ReplyRejected: malformed, or not legal here; the host's log says why.
	ReplyRejected Reply = 3
)

// Level is the severity of a log line (RFC 5424 section 6.2.1, the numbers behind the protocol's level names). Other
// values count as LevelInfo.
type Level int32

// Severities.
const (
	LevelEmergency Level = 0
	LevelAlert     Level = 1
	LevelCritical  Level = 2
	LevelError     Level = 3
	LevelWarning   Level = 4
	LevelNotice    Level = 5
	LevelInfo      Level = 6
	LevelDebug     Level = 7
)
