package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Backoff between two attempts to connect: doubled each time, give or take a quarter, and from the start again once a
// connection stood.
const (
	firstBackoff = 500 * time.Millisecond
	lastBackoff  = 30 * time.Second
)

// Change is a resource that changed or, where URI is empty, a changed list.
type Change struct{ URI string }

// Refused are URIs that the server does not watch: nobody serves them, or the caller may not see them.
type Refused struct{ URIs []string }

func (r *Refused) Error() string { return fmt.Sprintf("the server does not watch %q", r.URIs) }

// Watch tells change of changes until it fails, ctx ends, or the server refuses something for good. When a connection is lost or the
// server ends it, Watch connects anew; lost says why and for how long it waits, and since changes can be missed meanwhile, every URI
// is told as changed once it stands again. It fails with *Refused when the server does not watch one of uris.
func (c *Client) Watch(ctx context.Context, uris []string, change func(Change) error, lost func(err error, wait time.Duration)) error {
	backoff := firstBackoff
	for again := false; ; again = true {
		stood := false
		err := c.watchOnce(ctx, uris, func() error {
			stood, backoff = true, firstBackoff
			for _, uri := range uris {
				if again {
					if err := change(Change{uri}); err != nil {
						return err
					}
				}
			}
			return nil
		}, change)
		var temporary *unreachable
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !errors.As(err, &temporary) || !again && !stood:
			return err // the first connection must stand
		}
		c.Close()
		wait := backoff*3/4 + rand.N(backoff/2)
		backoff = min(2*backoff, lastBackoff)
		lost(err, wait)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// watchOnce watches on one connection. begun is called when it stands.
func (c *Client) watchOnce(ctx context.Context, uris []string, begun func() error, change func(Change) error) error {
	revision, err := c.Revision(ctx)
	switch {
	case err != nil:
		return err
	case revision == Legacy:
		return c.watchSession(ctx, uris, begun, change)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	params := map[string]any{"notifications": map[string]any{"resourcesListChanged": true, "resourceSubscriptions": uris}}
	res, id, err := c.postModern(ctx, "subscriptions/listen", "", params)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = c.result(res, id, func(method string, params jsontext.Value) error {
		if method == "notifications/subscriptions/acknowledged" {
			if err := refused(uris, params); err != nil {
				return err
			}
			return begun()
		}
		return notify(method, params, change)
	})
	if err == nil {
		err = &unreachable{fmt.Errorf("%s: the server ended the subscription", c.opts.URL)}
	}
	return err
}

// refused compares what was asked for with what is acknowledged (rule S1).
func refused(uris []string, params jsontext.Value) error {
	var ack struct {
		Notifications struct {
			URIs []string `json:"resourceSubscriptions"`
		} `json:"notifications"`
	}
	if err := json.Unmarshal(params, &ack); err != nil {
		return fmt.Errorf("the server's acknowledgement is malformed: %w", err)
	}
	watched := map[string]bool{}
	for _, uri := range ack.Notifications.URIs {
		watched[uri] = true
	}
	var r Refused
	for _, uri := range uris {
		if !watched[uri] {
			r.URIs = append(r.URIs, uri)
		}
	}
	if len(r.URIs) > 0 {
		return &r
	}
	return nil
}

// notify hands a notification on, if it is a change.
func notify(method string, params jsontext.Value, change func(Change) error) error {
	switch method {
	case "notifications/resources/list_changed":
		return change(Change{})
	case "notifications/resources/updated":
		var p struct {
			URI string `json:"uri"`
		}
		if err := json.Unmarshal(params, &p); err != nil || p.URI == "" {
			return errors.New("the server sent an update without a URI")
		}
		return change(Change{p.URI})
	}
	return nil
}

// watchSession subscribes in a session of an older revision: its stream first, so that nothing is missed.
func (c *Client) watchSession(ctx context.Context, uris []string, begun func() error, change func(Change) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.mu.Lock()
	session := c.session
	c.mu.Unlock()
	h := c.legacyHeader(session)
	h.Set("Accept", typeStream)
	res, err := c.send(ctx, http.MethodGet, nil, h)
	if lostSession := new(statusError); errors.As(err, &lostSession) && lostSession.status == http.StatusNotFound {
		return &unreachable{err}
	}
	if err != nil {
		return err
	}
	defer res.Body.Close()
	for _, uri := range uris {
		if _, err := c.Call(ctx, "resources/subscribe", uri, map[string]any{"uri": uri}); err != nil {
			if e := new(Error); errors.As(err, &e) {
				return &Refused{[]string{uri}}
			}
			return err
		}
	}
	if err := begun(); err != nil {
		return err
	}
	_, err = c.result(res, 0, func(method string, params jsontext.Value) error { return notify(method, params, change) })
	return err
}
