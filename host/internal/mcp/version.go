package mcp

import (
	"net/http"
	"slices"
	"time"

	"github.com/reshost/reshost/host/internal/jsonrpc"
)

// revision is what one revision of the protocol has. Nothing else in the program asks for a revision by its name: a new
// one is a new row.
type revision struct {
	name string
	// modern revisions carry version and capabilities in every request; legacy ones begin with initialize.
	modern bool
	// resultType and cacheHints stand in results, serverInfo in their _meta.
	resultType, cacheHints, serverInfo bool
	// title, icons, lastModified and meta are members of resources and templates; meta of contents too.
	title, icons, lastModified, meta bool
	// context is a parameter of completions; completions a capability; progressText the message of a progress notification.
	context, completions, progressText bool
	// roundTrips says that a read may end in questions to the client, who reads again with the answers. Without it the questions go
	// to the client while the read waits.
	roundTrips bool
	// asks is what a client of the revision can be asked at all.
	asks ability
	// modes and elicitationID are parameters of elicitations, the latter of those that lead to a page.
	modes, elicitationID bool
	// batch says that a message may be an array of messages.
	batch bool
	// notFound is the code for a missing resource.
	notFound int
	// unknownMethod is the HTTP status that goes with an unknown method.
	unknownMethod int
}

// firstModern divides the eras: names of revisions are dates, and compare as they sort.
const firstModern = "2026-07-28"

// isDate reports whether a revision's name has the form of one; no other may be compared.
func isDate(name string) bool {
	_, err := time.Parse(time.DateOnly, name)
	return err == nil
}

// table returns the revisions that are implemented, newest first.
func table() []*revision {
	return []*revision{
		{
			name: "2026-07-28", modern: true,
			resultType: true, cacheHints: true, serverInfo: true,
			title: true, icons: true, lastModified: true, meta: true,
			context: true, completions: true, progressText: true,
			roundTrips: true, asks: canForm | canURL | canSample | canSampleTools | canListRoots, modes: true,
			notFound: jsonrpc.CodeInvalidParams, unknownMethod: http.StatusNotFound,
		},
		{
			name:  "2025-11-25",
			title: true, icons: true, lastModified: true, meta: true,
			context: true, completions: true, progressText: true,
			asks: canForm | canURL | canSample | canSampleTools | canListRoots, modes: true, elicitationID: true,
			notFound: codeLegacyNotFound, unknownMethod: http.StatusOK,
		},
		{
			name:  "2025-06-18",
			title: true, lastModified: true, meta: true,
			context: true, completions: true, progressText: true,
			asks:     canForm | canSample | canListRoots,
			notFound: codeLegacyNotFound, unknownMethod: http.StatusOK,
		},
		{
			name:        "2025-03-26",
			completions: true, progressText: true, batch: true,
			asks:     canSample | canListRoots,
			notFound: codeLegacyNotFound, unknownMethod: http.StatusOK,
		},
		{
			name:     "2024-11-05",
			asks:     canSample | canListRoots,
			notFound: codeLegacyNotFound, unknownMethod: http.StatusOK,
		},
	}
}

// Revisions returns the names of the revisions that are implemented, newest first.
func Revisions() []string {
	var names []string
	for _, r := range table() {
		names = append(names, r.name)
	}
	return names
}

// served returns the implemented revisions that names holds; all for no names.
func served(names []string) []*revision {
	all := table()
	if len(names) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(r *revision) bool { return !slices.Contains(names, r.name) })
}

// revision returns the served revision of that name; nil for any other.
func (s *Server) revision(name string) *revision {
	for _, r := range s.revisions {
		if r.name == name {
			return r
		}
	}
	return nil
}
