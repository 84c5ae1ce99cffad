package host

import (
	"time"

	"github.com/reshost/reshost/host/cache"
	"github.com/reshost/reshost/host/internal/jsonrpc"
)

// provenance returns where a result comes from, as a JSON object without its closing brace.
func (j *readJob) provenance(e *cache.Entry) []byte {
	b := jsonrpc.AppendString([]byte(`{"server":`), j.opts.Name)
	b = jsonrpc.AppendString(append(b, `,"plugin":`...), j.route.name)
	if v := j.route.info.Version; v != "" {
		b = jsonrpc.AppendString(append(b, `,"version":`...), v)
	}
	if e.ETag != "" {
		b = jsonrpc.AppendString(append(b, `,"revision":`...), e.ETag)
	}
	b = append(b, `,"retrievedAt":"`...)
	return append(e.Retrieved.UTC().AppendFormat(b, time.RFC3339), '"')
}
