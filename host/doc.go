// Package host serves MCP resources from providers: it routes a URI to the provider that claims it, asks who may, keeps
// callers apart, and bounds everything that crosses a border. It is what `reshost serve` runs and what an application
// embeds; providers are Go code (host/memprovider) or WebAssembly plugins (host/wasmplugin), and a host with only the former
// links no WebAssembly engine.
//
//	h, err := host.New(&host.Options{Name: "notes"})
//	if err != nil {
//		return err
//	}
//	defer h.Close(context.Background())
//	if err := h.Add(notes, nil); err != nil {
//		return err
//	}
//	return http.ListenAndServe("127.0.0.1:8642", h.Handler())
//
// A newcomer reads read.go first: it is the whole way of a resources/read, in order.
//
// Clients and the application ([Host.Watch]) hear of changes that providers report: subscribe.go says who may hear what, and
// host/internal/subs keeps the table.
//
// # Errors
//
// Requests fail with a *provider.Error, whose code and message are what a remote client would be told; the cause is in
// the log. New, Add, Remove and Replace fail with plain errors that say what, where and what to do.
package host
