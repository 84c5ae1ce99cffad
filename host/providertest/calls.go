package providertest

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/reshost/reshost/host/provider"
)

// checkOwnership: a result belongs to the host, so that changing it changes no later one; and requests stay as they were.
func checkOwnership(k *kit) {
	k.open()
	for _, t := range k.targets() {
		req, ok := k.request(t.uri)
		if !ok {
			continue
		}
		kept := *req
		kept.Vars = slices.Clone(req.Vars)
		res, err := k.p.Read(k.ctx, req)
		if !reflect.DeepEqual(*req, kept) {
			k.report("Read of %s changes its request", t.uri)
		}
		if err != nil || res == nil {
			continue // checkRead's affair
		}
		for i := range res.Contents {
			c := &res.Contents[i]
			scribble(c.Body)
			scribble(c.Meta)
			c.MIMEType = "scribbled/over"
		}
		var state []byte
		if res.Input != nil {
			scribble(res.Input.State)
			state = slices.Clone(res.Input.State)
		}
		again, err := k.p.Read(k.ctx, req)
		if err != nil || again == nil {
			continue
		}
		if again.Input != nil && len(state) > 0 && bytes.Equal(again.Input.State, state) {
			k.report("Read of %s: changing a state changes the next one", t.uri)
		}
		for i := range min(len(res.Contents), len(again.Contents)) {
			was, is := &res.Contents[i], &again.Contents[i]
			if is.MIMEType == was.MIMEType || len(is.Body) > 0 && bytes.Equal(is.Body, was.Body) || len(is.Meta) > 0 && bytes.Equal(is.Meta, was.Meta) {
				k.report("Read of %s: changing a result changes the next one", t.uri)
			}
		}
	}
	k.checkListOwnership()
}

func scribble(b []byte) {
	for i := range b {
		b[i] ^= 0x5a
	}
}

func (k *kit) checkListOwnership() {
	if !k.info.List {
		return
	}
	req := &provider.ListRequest{PageSize: 2}
	first, err := k.p.List(k.ctx, req)
	if err != nil || first == nil {
		return // checkList's affair
	}
	type shown struct{ uri, name, meta, next string }
	show := func(l *provider.ListResult) (out []shown) {
		for i := range l.Resources {
			r := &l.Resources[i]
			out = append(out, shown{r.URI, r.Name, string(r.Meta), string(l.Next)})
		}
		return out
	}
	want := show(first)
	for i := range first.Resources {
		r := &first.Resources[i]
		r.URI, r.Name = "scribbled:over", "scribbled over"
		scribble(r.Meta)
		if r.Size != nil {
			*r.Size = -1
		}
	}
	scribble(first.Next)
	second, err := k.p.List(k.ctx, req)
	if err != nil || second == nil {
		return
	}
	changed := !slices.Equal(want, show(second))
	for i := range second.Resources {
		changed = changed || second.Resources[i].Size != nil && *second.Resources[i].Size == -1
	}
	if changed {
		k.report("List: changing a result changes the next one")
	}
}

// checkWatch: what is claimed to be watchable can be watched, whether it exists or not, and let go again.
func checkWatch(k *kit) {
	k.open()
	if !k.info.Watch {
		return
	}
	uris := k.missing()
	for _, t := range k.targets() {
		uris = append(uris, t.uri)
	}
	for _, u := range uris {
		if _, ok := k.request(u); !ok {
			continue
		}
		if err := k.p.Watch(k.ctx, u.String()); err != nil {
			k.report("Watch of %s: %v (Info.Watch is set, and a watched resource need not exist)", u, err)
		}
	}
	for _, u := range uris {
		k.within("Unwatch of "+u.String()+" blocks", func() { k.p.Unwatch(u.String()) })
	}
	k.close() // no event may come from here on
	k.events.mu.Lock()
	updated := k.events.updated
	k.events.mu.Unlock()
	for _, u := range updated {
		k.parse("Events.Updated", u)
	}
}

// within reports a call that takes longer than Options.Patience.
func (k *kit) within(sentence string, call func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		call()
	}()
	timer := time.NewTimer(k.opts.Patience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		k.report("%s for more than %v", sentence, k.opts.Patience)
		<-done // the provider cannot be used meanwhile
	}
}

// checkCancellation: calls return soon after their context is done, before or during the call.
func checkCancellation(k *kit) {
	k.open()
	done, cancel := context.WithCancel(k.ctx)
	cancel()
	for _, ctx := range []context.Context{done, k.ctx} {
		started := func() (context.Context, context.CancelFunc) {
			if ctx == done {
				return ctx, func() {}
			}
			return context.WithTimeout(ctx, 5*time.Millisecond)
		}
		k.eachCall(func(name string, call func(context.Context) error) {
			ctx, cancel := started()
			defer cancel()
			k.within(name+" goes on after its context is done", func() { _ = call(ctx) })
		})
	}
}

// eachCall hands over some of every kind of call that the host makes.
func (k *kit) eachCall(do func(name string, call func(context.Context) error)) {
	targets := k.targets()
	for i := 0; i < len(targets); i += max(1, len(targets)/8) {
		u := targets[i].uri
		req, ok := k.request(u)
		if !ok {
			continue
		}
		do("Read of "+u.String(), func(ctx context.Context) error {
			req := *req
			_, err := k.p.Read(ctx, &req)
			return err
		})
	}
	if k.info.List {
		do("List", func(ctx context.Context) error {
			_, err := k.p.List(ctx, &provider.ListRequest{PageSize: 1000})
			return err
		})
	}
	for i := range k.info.Templates {
		t := &k.info.Templates[i]
		for _, v := range t.Vars {
			if !v.Complete {
				continue
			}
			do("Complete of "+t.URITemplate, func(ctx context.Context) error {
				_, err := k.p.Complete(ctx, &provider.CompleteRequest{Template: t.URITemplate, TemplateIndex: i, Argument: v.Name})
				return err
			})
		}
	}
}

// checkConcurrent: calls from many goroutines succeed as they do from one; Unavailable may be tried again for ten times
// Options.Patience, as a pool may be empty for a while. The race detector sees the rest.
func checkConcurrent(k *kit) {
	const goroutines, rounds = 8, 4
	k.open()
	type named struct {
		name string
		call func(context.Context) error
	}
	var calls []named
	k.eachCall(func(name string, call func(context.Context) error) {
		if call(k.ctx) == nil { // what fails alone is another check's affair
			calls = append(calls, named{name, call})
		}
	})
	var wg sync.WaitGroup
	var mu sync.Mutex // guards reports
	for g := range goroutines {
		wg.Go(func() {
			for i := range rounds * len(calls) {
				c := calls[(g+i)%len(calls)]
				if err := k.insist(c.call); err != nil {
					mu.Lock()
					k.report("%s fails when others run beside it: %v", c.name, err)
					mu.Unlock()
					return
				}
			}
			_ = k.p.Info()
		})
	}
	wg.Wait()
}

// insist makes a call again while it answers Unavailable, up to ten times Options.Patience.
func (k *kit) insist(call func(context.Context) error) error {
	deadline := time.Now().Add(10 * k.opts.Patience)
	for {
		err := call(k.ctx)
		if err == nil || provider.CodeOf(err) != provider.Unavailable || time.Now().After(deadline) {
			return err
		}
		time.Sleep(k.opts.Patience / 100)
	}
}
