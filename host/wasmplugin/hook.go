package wasmplugin

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/provider"
)

// Webhook is a request that told of a change. Who sent it has been verified.
type Webhook struct {
	// Header are the header lines that the plugin may see. Its names reach it in lower case.
	Header http.Header
	Body   []byte
}

// Hook hands a webhook to the plugin, whether or not anything is watched: rh_poll runs with it, and the changes that the plugin
// reports count like all others. It returns when the plugin is done, with its error; Unsupported where the plugin does not poll.
func (p *Plugin) Hook(ctx context.Context, h *Webhook) error {
	if p.poll == nil {
		return provider.Errorf(provider.Unsupported, "the plugin takes no webhooks: its manifest has no poll_ms")
	}
	req := &abi.PollRequest{Watched: p.poll.some(), Body: string(h.Body)}
	for _, name := range slices.Sorted(maps.Keys(h.Header)) {
		for _, value := range h.Header[name] {
			req.Headers = append(req.Headers, abi.Var{Name: strings.ToLower(name), Value: value})
		}
	}
	_, err := p.poll.ask(ctx, req)
	return err
}

// some returns what is watched, as much of it as one poll names.
func (o *poller) some() []string {
	list := o.uris()
	slices.Sort(list)
	left := maxPollRequest
	for i, u := range list {
		if left -= len(u); left < 0 {
			return list[:i]
		}
	}
	return list
}
