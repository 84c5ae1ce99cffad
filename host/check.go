package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/reshost/reshost/host/provider"
)

// mimeDirectory is the media type of a folder's listing (rule R5): one URI a line.
const mimeDirectory = "inode/directory"

// check turns a provider's result into contents for the caller, or says what is wrong with it. A fault of the provider is
// Internal; what is only too large is TooLarge and names the limit.
func (j *readJob) check(ctx context.Context, res *provider.ReadResult) ([]provider.Content, error) {
	switch {
	case res == nil:
		return nil, fault("it returned nothing")
	case res.NotModified:
		return nil, fault("it answered that nothing changed, and was not asked")
	case len(res.Contents) == 0:
		return nil, fault("it returned no contents")
	}
	if err := j.checkSizes(res.Contents); err != nil {
		return nil, err
	}
	kept := res.Contents[:0]
	for i := range res.Contents {
		ok, err := j.checkPart(ctx, &res.Contents[i])
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, res.Contents[i])
		}
	}
	if len(kept) == 0 {
		return nil, provider.Errorf(provider.Denied, "the policy refuses every part")
	}
	return kept, nil
}

func (j *readJob) checkSizes(parts []provider.Content) error {
	l := &j.opts.Limits
	if len(parts) > l.ReadItems {
		return &provider.Error{
			Code: provider.TooLarge, Limit: int64(l.ReadItems),
			Message: fmt.Sprintf("the resource has more than %d parts", l.ReadItems),
		}
	}
	var sum int64
	for i := range parts {
		sum += int64(len(parts[i].Body))
	}
	if sum > l.ReadBytes {
		return &provider.Error{
			Code: provider.TooLarge, Limit: l.ReadBytes,
			Message: fmt.Sprintf("the resource has more than %d bytes", l.ReadBytes),
		}
	}
	return nil
}

// checkPart checks one part, puts it into its final form, and reports whether the caller may have it.
func (j *readJob) checkPart(ctx context.Context, c *provider.Content) (bool, error) {
	ok, err := j.checkPartURI(ctx, c)
	if !ok || err != nil {
		return false, err
	}
	if c.Text && !utf8.Valid(c.Body) {
		return false, fault("a part said to be text is not UTF-8")
	}
	if err := checkMIME(c.MIMEType); err != nil {
		return false, fault(err.Error())
	}
	if !printable(c.ETag) {
		return false, fault("an etag is not printable ASCII of at most 256 bytes")
	}
	if err := checkObject(c.Meta, j.opts.Limits.MetaBytes); err != nil {
		return false, fault("the _meta of a part: " + err.Error())
	}
	if j.opts.Policy != nil && isDirectory(c.MIMEType) {
		c.Body = j.filterEntries(ctx, c.Body)
	}
	return true, nil
}

// checkPartURI settles a part's URI. The requested one is spelled as the caller did; another must lead back to this
// provider, and the policy is asked about it.
func (j *readJob) checkPartURI(ctx context.Context, c *provider.Content) (bool, error) {
	if c.URI == "" || c.URI == j.route.uri || c.URI == j.req.URI {
		c.URI = j.req.URI
		return true, nil
	}
	r, err := j.snap.routeText(j.route.view, c.URI)
	if err != nil {
		return false, provider.Wrap(provider.Internal, err, fmt.Sprintf("a part's URI %q does not lead back to its provider", cut(c.URI, 256)))
	}
	if r.uri == j.route.uri {
		c.URI = j.req.URI
		return true, nil
	}
	return j.allows(ctx, OpRead, j.caller, &r), nil
}

// filterEntries leaves out the lines of a folder's listing that the caller may not see, and those that lead nowhere, about
// which nobody can be asked.
func (j *readJob) filterEntries(ctx context.Context, body []byte) []byte {
	var kept []byte
	for line := range strings.Lines(string(body)) {
		text := strings.TrimRight(line, "\r\n")
		if text == "" {
			continue
		}
		r, err := j.snap.routeText(j.route.view, text)
		if err == nil && j.allows(ctx, OpList, j.caller, &r) {
			kept = append(kept, line...)
		}
	}
	return kept
}

// isDirectory reports whether a media type is a folder's, in whatever case and with whatever parameters.
func isDirectory(mimeType string) bool {
	kind, _, _ := strings.Cut(mimeType, ";")
	return strings.EqualFold(strings.TrimSpace(kind), mimeDirectory)
}

// fault is a provider's breach of its contract.
func fault(what string) error {
	return provider.Wrap(provider.Internal, errors.New("the provider broke its contract: "+what), "")
}
