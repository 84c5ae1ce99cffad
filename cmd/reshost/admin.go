package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/reshost/reshost/cmd/reshost/internal/config"
	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
)

// The paths of the operations endpoint.
const (
	pathHealth  = "/healthz"
	pathStats   = "/cache/stats"
	pathExplain = "/cache/explain"
)

// startAdmin serves the operations endpoint where the configuration has one. stop ends it.
func startAdmin(ctx context.Context, cfg *config.Config, h *host.Host, log *slog.Logger) (stop func() error, err error) {
	if cfg.Admin == nil {
		return func() error { return nil }, nil
	}
	own := *cfg
	own.Server.Listen = cfg.Admin.Listen
	ln, err := listen(ctx, &own)
	if err != nil {
		return nil, cfg.Errorf("admin.listen", "%v", err)
	}
	srv := &http.Server{
		Handler: loopbackOnly(adminHandler(h), isUnix(cfg.Admin.Listen)), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	log.Info("operations endpoint", "address", ln.Addr().String())
	return func() error {
		err := srv.Close()
		if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
			err = errors.Join(err, serveErr)
		}
		return err
	}, nil
}

// loopbackOnly refuses requests by a name that is not the machine's own: a page in a browser cannot have its own name lead here.
func loopbackOnly(next http.Handler, socket bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.Host
		if bare, _, err := net.SplitHostPort(name); err == nil {
			name = bare
		}
		ip := net.ParseIP(strings.Trim(name, "[]"))
		if !socket && !strings.EqualFold(name, "localhost") && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "this endpoint is for this machine alone", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func adminHandler(h *host.Host) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathHealth, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET "+pathStats, func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, http.StatusOK, toCacheStatsJSON(h.CacheStats()))
	})
	mux.HandleFunc("GET "+pathExplain, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		who := &host.Principal{
			Issuer: q.Get("issuer"), Subject: q.Get("subject"), Tenant: q.Get("tenant"), Groups: q["group"], Scopes: q["scope"],
		}
		x, err := h.ExplainCache(r.Context(), who, q.Get("uri"))
		if err != nil {
			status := http.StatusBadRequest
			if provider.CodeOf(err) == provider.NotFound {
				status = http.StatusNotFound
			}
			answerJSON(w, status, map[string]string{"error": err.Error()})
			return
		}
		answerJSON(w, http.StatusOK, toCacheJSON(x))
	})
	return mux
}

func answerJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n'))
}

// cacheJSON is a host.CacheExplanation in the form of --json.
type cacheJSON struct {
	URI       string `json:"uri"`
	Provider  string `json:"plugin"`
	Key       string `json:"key"`
	Partition string `json:"partition"`
	State     string `json:"state"`
	Why       string `json:"why,omitzero"`
	AgeMs     int64  `json:"ageMs"`
	TTLMs     int64  `json:"ttlMs"`
	Hits      uint64 `json:"hits"`
	Bytes     int64  `json:"bytes"`
	ETag      string `json:"etag,omitzero"`
}

func toCacheJSON(x *host.CacheExplanation) cacheJSON {
	return cacheJSON{x.URI, x.Provider, x.Key, x.Partition, x.State, x.Why, x.Age.Milliseconds(), x.TTL.Milliseconds(), x.Hits, x.Bytes, x.ETag}
}

// cacheStatsJSON is a host.CacheStats.
type cacheStatsJSON struct {
	Hit         uint64 `json:"hit"`
	Miss        uint64 `json:"miss"`
	Coalesced   uint64 `json:"coalesced"`
	Stale       uint64 `json:"stale"`
	Revalidated uint64 `json:"revalidated"`
	Invalidated uint64 `json:"invalidated"`
	Evicted     uint64 `json:"evicted"`
	Entries     int    `json:"entries"`
	Bytes       int64  `json:"bytes"`
}

func toCacheStatsJSON(s host.CacheStats) cacheStatsJSON {
	return cacheStatsJSON{s.Hit, s.Miss, s.Coalesced, s.Stale, s.Revalidated, s.Invalidated, s.Evicted, s.Entries, s.Bytes}
}
