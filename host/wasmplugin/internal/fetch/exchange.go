package fetch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Exchange is a request that was sent, and its answer. One goroutine at a time may use it; Close is that one's too.
type Exchange struct {
	client *Client
	ctx    context.Context
	cancel context.CancelFunc
	// done is closed when head and err are there.
	done chan struct{}
	once sync.Once
	head *Head
	body *body
	err  error
}

// Head is the beginning of an answer.
type Head struct {
	Status  int
	Headers [][2]string
	// URL is where the answer came from.
	URL string
}

// Start checks a request and sends it; it does not wait for the answer. The exchange ends with ctx, or when stop is closed, at
// the latest, and must be closed.
func (c *Client) Start(ctx context.Context, r *Request, stop <-chan struct{}) (*Exchange, error) {
	if !isToken(r.Method) {
		return nil, invalid("the method %.40q is none", r.Method)
	}
	t, err := parseTarget(r.URL)
	if err != nil {
		return nil, err
	}
	allowed, err := c.allow(r.Method, t)
	if err != nil {
		return nil, err
	}
	if err := checkHeaders(r.Headers, allowed); err != nil {
		return nil, err
	}
	x := &Exchange{client: c, done: make(chan struct{})}
	if r.Timeout > 0 {
		x.ctx, x.cancel = context.WithTimeout(ctx, r.Timeout)
	} else {
		x.ctx, x.cancel = context.WithCancel(ctx)
	}
	go func() {
		select {
		case <-stop:
			x.cancel()
		case <-x.ctx.Done():
		}
	}()
	go x.run(&hop{method: r.Method, target: t, rule: allowed, headers: slices.Clone(r.Headers), body: r.Body})
	return x, nil
}

// Done is closed when Head does not wait any more.
func (x *Exchange) Done() <-chan struct{} { return x.done }

// Head waits for the answer's beginning.
func (x *Exchange) Head() (*Head, error) {
	<-x.done
	return x.head, x.err
}

// Read reads the answer's body; at its end it fails with io.EOF.
func (x *Exchange) Read(p []byte) (int, error) {
	<-x.done
	if x.err != nil {
		return 0, x.err
	}
	n, err := x.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = failed(err)
	}
	return n, err
}

// Close ends the exchange and waits until nothing of it runs.
func (x *Exchange) Close() error {
	x.once.Do(func() {
		x.cancel()
		<-x.done
		if x.body != nil {
			x.body.from.Close()
		}
	})
	return nil
}

func (x *Exchange) run(first *hop) {
	defer close(x.done)
	select {
	case x.client.places <- struct{}{}:
		defer func() { <-x.client.places }()
	case <-x.ctx.Done():
		x.err = failed(x.ctx.Err())
		return
	}
	h := first
	for n := 0; ; n++ {
		next, err := x.step(h)
		if err != nil {
			x.err = failed(err)
			return
		}
		if next == nil {
			return
		}
		if n == maxRedirects {
			x.err = denied("more than %d redirects, from %s", maxRedirects, first.target.origin())
			return
		}
		h = next
	}
}

// step makes one request. It returns the next where the answer is a redirect, and keeps the answer otherwise.
func (x *Exchange) step(h *hop) (*hop, error) {
	req, err := x.client.build(x.ctx, h)
	if err != nil {
		return nil, err
	}
	res, err := x.client.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	next, err := x.client.redirect(h, res)
	if err == nil && next == nil {
		err = x.keep(h, res)
	}
	if err != nil || next != nil {
		res.Body.Close()
	}
	return next, err
}

// keep takes an answer, without what is not for the plugin: cookies, what concerns the connection, and secrets.
func (x *Exchange) keep(h *hop, res *http.Response) error {
	if coding := res.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") && h.method != http.MethodHead {
		return &Error{Kind: Unavailable, text: "the answer has a content coding that was not asked for"}
	}
	c := x.client
	head := &Head{Status: res.StatusCode, URL: c.blanks.text(h.target.String())}
	for name, values := range res.Header {
		fold := foldName(name)
		if fold == "set-cookie" || fold == "set-cookie2" || fold != "content-length" && framing(fold) {
			continue
		}
		for _, v := range values {
			head.Headers = append(head.Headers, [2]string{c.blanks.text(strings.ToLower(name)), strings.ToValidUTF8(c.blanks.text(v), "\uFFFD")})
		}
	}
	slices.SortStableFunc(head.Headers, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	x.head = head
	left := c.maxBody
	if left < 0 {
		left = 1<<63 - 1
	}
	x.body = &body{from: res.Body, blanks: c.blanks, left: left, max: left}
	return nil
}

// failed makes an Error of what the network said. Its text names addresses at most: no header is in it.
func failed(err error) error {
	var known *Error
	switch {
	case errors.As(err, &known):
		return known
	case strings.Contains(err.Error(), "server response headers exceeded"):
		return tooLarge("the answer's head is larger than %d bytes", maxHead)
	}
	return &Error{Kind: Unavailable, text: "the request failed", err: err}
}
