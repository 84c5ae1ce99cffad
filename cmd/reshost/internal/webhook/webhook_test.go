package webhook_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reshost/reshost/cmd/reshost/internal/webhook"
)

// The example of the Standard Webhooks specification's libraries, and that of GitHub's documentation.
const (
	standardSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	standardID     = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	standardBody   = `{"test": 2432232314}`
	standardSum    = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	githubSecret   = "It's a Secret to Everybody"
	githubSum      = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
)

var sent = time.Unix(1614265330, 0)

func TestVerify(t *testing.T) {
	standard := func(id, sum string) http.Header {
		h := http.Header{}
		h.Set("webhook-id", id)
		h.Set("webhook-timestamp", "1614265330")
		h.Set("webhook-signature", sum)
		return h
	}
	github := func(id, sum string) http.Header {
		h := http.Header{}
		h.Set("X-GitHub-Delivery", id)
		h.Set("X-Hub-Signature-256", sum)
		return h
	}
	for _, tt := range []struct {
		name, scheme string
		header       http.Header
		body         string
		after        time.Duration
		want         string // "": taken
	}{
		{name: "standard", scheme: webhook.Standard, header: standard(standardID, standardSum), body: standardBody},
		{name: "standard, one of several", scheme: webhook.Standard, header: standard(standardID, "v1a,x v1,AAAA "+standardSum+" v1,@"), body: standardBody},
		{name: "standard, at the end of its time", scheme: webhook.Standard, header: standard(standardID, standardSum), body: standardBody, after: webhook.Tolerance},
		{name: "standard, old", scheme: webhook.Standard, header: standard(standardID, standardSum), body: standardBody, after: webhook.Tolerance + 1, want: "away from now"},
		{name: "standard, from the future", scheme: webhook.Standard, header: standard(standardID, standardSum), body: standardBody, after: -webhook.Tolerance - 1, want: "away from now"},
		{name: "standard, another body", scheme: webhook.Standard, header: standard(standardID, standardSum), body: standardBody + " ", want: "no signature"},
		{name: "standard, another id", scheme: webhook.Standard, header: standard("msg_x", standardSum), body: standardBody, want: "no signature"},
		{name: "standard, another version", scheme: webhook.Standard, header: standard(standardID, "v2"+standardSum[2:]), body: standardBody, want: "no signature"},
		{name: "standard, many signatures", scheme: webhook.Standard, header: standard(standardID, strings.Repeat(standardSum+" ", 17)), body: standardBody, want: "too many"},
		{name: "standard, no headers", scheme: webhook.Standard, header: http.Header{}, body: standardBody, want: "webhook-id"},
		{name: "github", scheme: webhook.GitHub, header: github("1", githubSum), body: "Hello, World!"},
		{name: "github, another body", scheme: webhook.GitHub, header: github("1", githubSum), body: "Hello, World", want: "does not fit"},
		{name: "github, another function", scheme: webhook.GitHub, header: github("1", "sha1"+githubSum[6:]), body: "Hello, World!", want: "does not fit"},
		{name: "github, no delivery", scheme: webhook.GitHub, header: github("", githubSum), body: "Hello, World!", want: "Delivery"},
		{name: "github, nothing", scheme: webhook.GitHub, header: http.Header{}, want: "does not fit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			secret := standardSecret
			if tt.scheme == webhook.GitHub {
				secret = githubSecret
			}
			v, err := webhook.New(tt.scheme, secret)
			if err != nil {
				t.Fatal(err)
			}
			now := sent.Add(tt.after)
			receipt, err := v.Verify(now, tt.header, []byte(tt.body))
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want an error with %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := v.Verify(now, tt.header, []byte(tt.body)); err == nil || !strings.Contains(err.Error(), "taken before") {
				t.Errorf("again: %v", err)
			}
			v.Return(receipt)
			if _, err := v.Verify(now, tt.header, []byte(tt.body)); err != nil {
				t.Errorf("after it was given back: %v", err)
			}
		})
	}
}

// TestMemory: what is remembered is bounded, the newest deliveries stay.
func TestMemory(t *testing.T) {
	v, err := webhook.New(webhook.GitHub, githubSecret)
	if err != nil {
		t.Fatal(err)
	}
	verify := func(i int) error {
		h := http.Header{}
		h.Set("X-GitHub-Delivery", fmt.Sprint(i))
		h.Set("X-Hub-Signature-256", githubSum)
		_, err := v.Verify(sent, h, []byte("Hello, World!"))
		return err
	}
	for i := range 25_000 {
		if err := verify(i); err != nil {
			t.Fatal(i, err)
		}
	}
	if verify(24_999) == nil || verify(15_000) == nil {
		t.Error("a recent delivery was taken again")
	}
	if err := verify(14_999); err != nil {
		t.Errorf("an old delivery is still kept: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, tt := range [][2]string{{webhook.Standard, "whsec_?"}, {webhook.Standard, "whsec_AAAA"}, {webhook.GitHub, "short"}, {"other", githubSecret}} {
		if _, err := webhook.New(tt[0], tt[1]); err == nil {
			t.Errorf("%s %q was taken", tt[0], tt[1])
		}
	}
}
