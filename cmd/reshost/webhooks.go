package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/reshost/reshost/cmd/reshost/internal/config"
	"github.com/reshost/reshost/cmd/reshost/internal/webhook"
	"github.com/reshost/reshost/host/wasmplugin"
)

const (
	// maxHook bounds the body of a webhook. Larger ones are refused before they are read.
	maxHook = 1 << 20
	// hookTime bounds how long a webhook is read, and how long the plugin takes with it; hooksAtOnce how many there are.
	hookTime    = 10 * time.Second
	hooksAtOnce = 16
	// hookRate is how many webhooks of one plugin are taken a second, and as many more at once.
	hookRate = 10
)

// hooks serves POST /hooks/{plugin}. What is wrong with a request stands in the log; the sender gets a status.
type hooks struct {
	log   *slog.Logger
	slots chan struct{}

	mu     sync.Mutex // guards byName
	byName map[string]*hook
}

// hook is the webhook of one plugin.
type hook struct {
	settings config.Webhook
	verifier *webhook.Verifier
	plugin   *wasmplugin.Plugin

	mu     sync.Mutex // guards what follows
	tokens float64
	filled time.Time
}

func newHooks(log *slog.Logger) *hooks {
	return &hooks{log: log, slots: make(chan struct{}, hooksAtOnce), byName: map[string]*hook{}}
}

// set takes the webhooks of the plugins that are served now. One whose settings stay remembers what was delivered.
func (hs *hooks) set(served []*generation) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	next := make(map[string]*hook)
	for _, g := range served {
		settings := g.entry.Webhook
		if settings == nil {
			continue
		}
		h := &hook{settings: *settings, plugin: g.plugin, tokens: hookRate}
		if old := hs.byName[g.entry.Name]; old != nil && reflect.DeepEqual(old.settings, h.settings) {
			h.verifier = old.verifier
		} else if v, err := webhook.New(settings.Scheme, settings.Secret.Reveal()); err == nil { // the configuration was checked
			h.verifier = v
		} else {
			continue
		}
		next[g.entry.Name] = h
	}
	hs.byName = next
}

func (hs *hooks) find(name string) *hook {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	return hs.byName[name]
}

// ServeHTTP implements http.Handler.
func (hs *hooks) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	name := req.PathValue("plugin")
	status, err := hs.serve(w, req, name)
	if err != nil {
		hs.log.Warn("a webhook is refused", "plugin", printable(name[:min(len(name), 64)]), "status", status, "error", err, "remote", req.RemoteAddr)
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
}

var (
	errNoHook   = errors.New("no plugin of that name has a webhook")
	errHooks    = errors.New("too many webhooks at the same time")
	errHookRate = errors.New("too many webhooks of this plugin")
	errHookSize = errors.New("the body is larger than 1 MiB")
)

func (hs *hooks) serve(w http.ResponseWriter, req *http.Request, name string) (int, error) {
	h := hs.find(name)
	if h == nil {
		return http.StatusNotFound, errNoHook
	}
	if req.ContentLength > maxHook {
		return http.StatusRequestEntityTooLarge, errHookSize
	}
	select {
	case hs.slots <- struct{}{}:
		defer func() { <-hs.slots }()
	default:
		return http.StatusServiceUnavailable, errHooks
	}
	// A writer that cannot set deadlines is a test's.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(hookTime))
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxHook))
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return http.StatusRequestEntityTooLarge, errHookSize
	}
	if err != nil {
		return http.StatusBadRequest, err
	}
	receipt, err := h.verifier.Verify(time.Now(), req.Header, body)
	if err != nil {
		return http.StatusUnauthorized, err
	}
	if !h.allow(time.Now()) {
		h.verifier.Return(receipt)
		return http.StatusTooManyRequests, errHookRate
	}
	ctx, cancel := context.WithTimeout(req.Context(), hookTime)
	defer cancel()
	if err := hs.deliver(ctx, name, h, &wasmplugin.Webhook{Header: told(req.Header), Body: body}); err != nil {
		h.verifier.Return(receipt)
		return http.StatusServiceUnavailable, err
	}
	return http.StatusNoContent, nil
}

// deliver calls the plugin, once more where it was replaced at that moment.
func (hs *hooks) deliver(ctx context.Context, name string, h *hook, request *wasmplugin.Webhook) error {
	err := h.plugin.Hook(ctx, request)
	if now := hs.find(name); err != nil && now != nil && now.plugin != h.plugin {
		return now.plugin.Hook(ctx, request)
	}
	return err
}

// allow takes one webhook of the plugin's share.
func (h *hook) allow(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.filled.IsZero() {
		h.tokens = min(hookRate, h.tokens+now.Sub(h.filled).Seconds()*hookRate)
	}
	h.filled = now
	if h.tokens < 1 {
		return false
	}
	h.tokens--
	return true
}

// told returns the header lines that a plugin sees: what the sender says of the delivery, and nothing that proves who it is.
func told(h http.Header) http.Header {
	out := http.Header{}
	for name, values := range h {
		lower := strings.ToLower(name)
		of := strings.HasPrefix(lower, "webhook-") || strings.HasPrefix(lower, "x-github-") || lower == "content-type"
		if of && !strings.Contains(lower, "signature") {
			out[name] = values
		}
	}
	return out
}
