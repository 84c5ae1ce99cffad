package reshost_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
	"github.com/reshost/reshost/sdk-guest/go/reshost/reshosttest"
)

// counted lists n resources, "0000" to n-1.
func counted(n int) *reshost.Plugin {
	p := reading(noRead)
	p.List = func(req *reshost.ListRequest, out *reshost.ListResponse) error {
		for i := range n {
			key := fmt.Sprintf("%04d", i)
			if key <= req.Cursor {
				continue
			}
			if !out.Add(reshost.Resource{URI: "t://x/" + key, Name: key}, key) {
				break
			}
		}
		out.SetTTL(5)
		out.SetPublic()
		return nil
	}
	return p
}

// TestListPages: pages are exact, and the last one, full or not, has no cursor (rule L1).
func TestListPages(t *testing.T) {
	tests := []struct {
		total, size int
		pages       []int
	}{
		{0, 10, []int{0}}, {1, 10, []int{1}}, {10, 10, []int{10}}, {11, 10, []int{10, 1}}, {30, 10, []int{10, 10, 10}}, {3, 1, []int{1, 1, 1}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.total, " by ", tt.size), func(t *testing.T) {
			g := reshosttest.New(t, counted(tt.total), &reshosttest.Options{PageSize: tt.size})
			var sizes []int
			cursor, all := "", 0
			for {
				page, err := g.List(cursor)
				if err != nil {
					t.Fatal(err)
				}
				if page.TTLMillis != 5 || !page.Public {
					t.Errorf("ttl %d, public %v", page.TTLMillis, page.Public)
				}
				for _, r := range page.Resources {
					if want := fmt.Sprintf("%04d", all); r.Name != want {
						t.Errorf("resource %d is %s", all, r.Name)
					}
					all++
				}
				sizes = append(sizes, len(page.Resources))
				if cursor = page.Next; cursor == "" {
					break
				}
			}
			if d := cmp.Diff(tt.pages, sizes); d != "" {
				t.Errorf("pages (-want +got):\n%s", d)
			}
		})
	}
}

func TestListEntry(t *testing.T) {
	half := 0.5
	p := reading(noRead)
	p.List = func(_ *reshost.ListRequest, out *reshost.ListResponse) error {
		out.Add(reshost.Resource{URI: "t://x/1", Name: "bare"}, "1")
		out.Add(reshost.Resource{
			URI: "t://x/2", Name: "n", Title: "T", Description: "D", MIMEType: "text/plain", Size: reshost.Bytes(0), Meta: `{"k":1}`,
			Annotations: &reshost.Annotations{Audience: []string{"user"}, Priority: &half, LastModifiedMillis: 1_709_210_096_789},
			Icons:       []reshost.Icon{{Src: "https://a.test/i.png", MIMEType: "image/png", Sizes: []string{"any"}, Theme: "dark"}, {Src: "data:,"}},
		}, "2")
		return nil
	}
	got, err := reshosttest.New(t, p, nil).ListAll()
	if err != nil {
		t.Fatal(err)
	}
	want := []reshosttest.ListedResource{
		{URI: "t://x/1", Name: "bare", Size: -1},
		{
			URI: "t://x/2", Name: "n", Title: "T", Description: "D", MIMEType: "text/plain", Meta: `{"k":1}`,
			Annotations: `{"audience":["user"],"priority":0.5,"lastModified":"2024-02-29T12:34:56Z"}`,
			Icons:       `[{"src":"https://a.test/i.png","mimeType":"image/png","sizes":["any"],"theme":"dark"},{"src":"data:,"}]`,
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("list (-want +got):\n%s", d)
	}
}

func TestListFaults(t *testing.T) {
	p := reading(noRead)
	p.List = func(_ *reshost.ListRequest, out *reshost.ListResponse) error {
		out.Add(reshost.Resource{URI: "t://x/1", Name: "n"}, "")
		return nil
	}
	if _, err := reshosttest.New(t, p, nil).List(""); !isCode(err, reshost.CodeInternal) {
		t.Errorf("an empty cursor: %v, want internal", err)
	}
	p.List = func(*reshost.ListRequest, *reshost.ListResponse) error { return reshost.Invalid("no such cursor") }
	if _, err := reshosttest.New(t, p, nil).List("x"); !isCode(err, reshost.CodeInvalid) {
		t.Errorf("a failing list: %v, want invalid", err)
	}
	p.List = func(_ *reshost.ListRequest, out *reshost.ListResponse) error {
		out.Add(reshost.Resource{URI: "t://elsewhere/1", Name: "n"}, "1")
		return nil
	}
	if _, err := reshosttest.New(t, p, nil).List(""); err == nil {
		t.Error("a resource that matches no template passes")
	}
	p.List = nil
	if _, err := reshosttest.New(t, p, nil).List(""); !isCode(err, reshost.CodeUnsupported) {
		t.Errorf("no list: %v, want unsupported", err)
	}
}

// TestComplete: at most 100 values, with the total where it is known (CMP-01, CMP-02).
func TestComplete(t *testing.T) {
	tests := []struct {
		name  string
		n     int
		more  func(out *reshost.Completion)
		want  int
		total int64
		has   bool
	}{
		{"none", 0, nil, 0, 0, false},
		{"some", 3, nil, 3, 3, false},
		{"exactly all", 100, nil, 100, 100, false},
		{"one too many", 101, nil, 100, -1, true},
		{"far too many", 100_000, nil, 100, -1, true},
		{"with a total", 101, func(o *reshost.Completion) { o.SetTotal(101) }, 100, 101, true},
		{"with more", 3, func(o *reshost.Completion) { o.SetMore() }, 3, -1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := reading(noRead)
			p.Templates[0].Vars[0].Complete = func(req *reshost.CompleteRequest, out *reshost.Completion) error {
				for i := range tt.n {
					if !out.Add(fmt.Sprint(req.Value, i)) {
						break
					}
				}
				if tt.more != nil {
					tt.more(out)
				}
				return nil
			}
			got, err := reshosttest.New(t, p, nil).Complete("t://x/{id}{?q}", "id", "v", nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Values) != tt.want || got.Total != tt.total || got.HasMore != tt.has {
				t.Errorf("%d values, total %d, more %v; want %d, %d, %v", len(got.Values), got.Total, got.HasMore, tt.want, tt.total, tt.has)
			}
			if tt.want > 0 && got.Values[0] != "v0" {
				t.Errorf("first value %q", got.Values[0])
			}
		})
	}
}

// TestCompleteContext: variables that are known reach the handler (CMP-04), and what nothing completes is invalid (rule C1).
func TestCompleteContext(t *testing.T) {
	p := reading(noRead)
	p.Templates[0].Vars[1].Complete = func(req *reshost.CompleteRequest, out *reshost.Completion) error {
		id, ok := req.Known("id")
		_, other := req.Known("other")
		out.Add(fmt.Sprint(req.Argument, id, ok, other, req.Template))
		return nil
	}
	g := reshosttest.New(t, p, &reshosttest.Options{Schemes: map[string]string{"t": "r"}})
	got, err := g.Complete("t://x/{id}{?q}", "q", "", map[string]string{"id": "a"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"qatrue falser://x/{id}{?q}"}, got.Values); d != "" {
		t.Errorf("values (-want +got):\n%s", d)
	}
	for _, argument := range []string{"id", "none"} {
		if _, err := g.Complete("t://x/{id}{?q}", argument, "", nil); !isCode(err, reshost.CodeInvalid) {
			t.Errorf("completing %s: %v, want invalid", argument, err)
		}
	}
}

func TestPoll(t *testing.T) {
	p := reading(noRead)
	var got reshost.PollRequest
	p.PollMillis = 1000
	p.Poll = func(req *reshost.PollRequest, out *reshost.PollResponse) error {
		got = *req
		got.Call = reshost.Call{}
		for _, u := range req.Watched {
			req.Updated(u)
		}
		req.ListChanged()
		out.SetState([]byte("s1"))
		out.SetNextPoll(50)
		return nil
	}
	g := reshosttest.New(t, p, nil)
	res, err := g.Poll(reshosttest.PollOptions{
		Watched: []string{"t://x/1"}, Changed: []string{"main/a", ""}, State: []byte("s0"), Body: []byte("b"),
		Headers: []reshost.Header{{Name: "a", Value: ""}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := reshosttest.PollResult{
		Changes: reshosttest.Changes{Updated: []string{"t://x/1"}, ListChanged: 1}, State: []byte("s1"), NextPollMillis: 50,
	}
	if d := cmp.Diff(&want, res); d != "" {
		t.Errorf("poll (-want +got):\n%s", d)
	}
	if string(got.State) != "s0" || string(got.Body) != "b" || len(got.Changed) != 2 || len(got.Headers) != 1 {
		t.Errorf("request = %+v", got)
	}
	p.Poll = func(_ *reshost.PollRequest, out *reshost.PollResponse) error {
		out.SetState(make([]byte, 8<<10+1))
		return nil
	}
	if _, err := reshosttest.New(t, p, nil).Poll(reshosttest.PollOptions{}); err == nil {
		t.Error("a state that is too large passes")
	}
	p.Poll = func(*reshost.PollRequest, *reshost.PollResponse) error { return errors.New("upstream") }
	if _, err := reshosttest.New(t, p, nil).Poll(reshosttest.PollOptions{}); !isCode(err, reshost.CodeInternal) {
		t.Errorf("a failing poll: %v, want internal", err)
	}
}
