// Package webhook verifies signed HTTP requests in the Standard Webhooks and the GitHub form. Only cmd/reshost imports it.
//
//	v, err := webhook.New(webhook.Standard, "whsec_…")
//	receipt, err := v.Verify(time.Now(), req.Header, body)
//
// # Errors
//
// An error of [Verifier.Verify] says why, for the log. Its text is nobody else's affair: the sender learns that it was refused.
package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The forms of signature.
const (
	// Standard is the form of standardwebhooks.com: webhook-id, webhook-timestamp and webhook-signature.
	Standard = "standard"
	// GitHub signs the body alone, in X-Hub-Signature-256, and numbers deliveries in X-GitHub-Delivery.
	GitHub = "github"
)

const (
	// Tolerance is how far a timestamp may be from now, either way.
	Tolerance = 5 * time.Minute
	// minKey is the least length of a secret, in bytes.
	minKey = 16
	// maxID bounds the name of a delivery.
	maxID = 256
	// maxSignatures bounds the signatures that are tried.
	maxSignatures = 16
	// remembered is how many deliveries are kept from being repeated.
	remembered = 10_000
)

// Verifier checks the requests of one sender. It is safe for concurrent use.
type Verifier struct {
	scheme string
	key    []byte

	mu sync.Mutex // guards what follows
	// seen are the deliveries that were taken; order has them as they came, the oldest at oldest.
	seen   map[string]bool
	order  []string
	oldest int
}

// New returns a Verifier. A secret of the standard form is base64, after "whsec_" or not; one of GitHub's is any text.
func New(scheme, secret string) (*Verifier, error) {
	v := &Verifier{scheme: scheme, key: []byte(secret), seen: map[string]bool{}}
	switch scheme {
	case Standard:
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			return nil, errors.New("want whsec_ and base64; make one with: echo whsec_$(openssl rand -base64 32)")
		}
		v.key = key
	case GitHub:
	default:
		return nil, fmt.Errorf("%q is no form of signature", scheme)
	}
	if len(v.key) < minKey {
		return nil, fmt.Errorf("the secret has %d bytes, fewer than %d; make one with: openssl rand -base64 32", len(v.key), minKey)
	}
	return v, nil
}

// Verify checks the signature of a request and takes the delivery: it is refused from now on. The receipt is for
// [Verifier.Return].
func (v *Verifier) Verify(now time.Time, h http.Header, body []byte) (receipt string, err error) {
	switch v.scheme {
	case Standard:
		receipt, err = v.standard(now, h, body)
	default:
		receipt, err = v.github(h, body)
	}
	if err == nil {
		err = v.take(receipt)
	}
	return receipt, err
}

// Return gives a delivery back that came to nothing, so that the sender may try again.
func (v *Verifier) Return(receipt string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.seen, receipt)
}

func (v *Verifier) standard(now time.Time, h http.Header, body []byte) (string, error) {
	id, stamp := h.Get("webhook-id"), h.Get("webhook-timestamp")
	if id == "" || len(id) > maxID || len(stamp) > maxID {
		return "", errors.New("webhook-id is missing or too long")
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return "", errors.New("webhook-timestamp is no time")
	}
	signed := v.sum([]byte(id+"."+stamp+"."), body)
	signatures := strings.Fields(h.Get("webhook-signature"))
	if len(signatures) > maxSignatures {
		return "", errors.New("too many signatures")
	}
	ok := false
	for _, s := range signatures {
		text, isV1 := strings.CutPrefix(s, "v1,")
		sum, err := base64.StdEncoding.DecodeString(text)
		ok = isV1 && err == nil && hmac.Equal(sum, signed) || ok
	}
	if !ok {
		return "", errors.New("no signature fits")
	}
	// After the signature, so that the log's words about time are about the sender.
	if age := now.Sub(time.Unix(seconds, 0)); age > Tolerance || age < -Tolerance {
		return "", fmt.Errorf("webhook-timestamp is %v away from now, more than %v", age.Abs().Round(time.Second), Tolerance)
	}
	return id + "." + stamp, nil // an attempt of the sender to deliver it again has a time of its own
}

func (v *Verifier) github(h http.Header, body []byte) (string, error) {
	text, ok := strings.CutPrefix(h.Get("X-Hub-Signature-256"), "sha256=")
	sum, err := hex.DecodeString(text)
	if !ok || err != nil || !hmac.Equal(sum, v.sum(nil, body)) {
		return "", errors.New("the signature does not fit")
	}
	id := h.Get("X-GitHub-Delivery")
	if id == "" || len(id) > maxID {
		return "", errors.New("X-GitHub-Delivery is missing or too long")
	}
	return id, nil
}

func (v *Verifier) sum(prefix, body []byte) []byte {
	mac := hmac.New(sha256.New, v.key)
	mac.Write(prefix)
	mac.Write(body)
	return mac.Sum(nil)
}

var errRepeated = errors.New("the delivery was taken before")

// take remembers a delivery in the place of the oldest.
func (v *Verifier) take(receipt string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.seen[receipt] {
		return errRepeated
	}
	if len(v.order) < remembered {
		v.order = append(v.order, receipt)
	} else {
		delete(v.seen, v.order[v.oldest])
		v.order[v.oldest] = receipt
		v.oldest = (v.oldest + 1) % remembered
	}
	v.seen[receipt] = true
	return nil
}
