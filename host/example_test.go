package host_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/memprovider"
	"github.com/reshost/reshost/host/provider"
)

// greeting is a provider of one template. What it serves stands in Info; the host does the rest.
type greeting struct{ provider.Unimplemented }

func (greeting) Info() provider.Info {
	return provider.Info{
		Name: "greeting", Schemes: []string{"hello"},
		Templates: []provider.Template{{
			URITemplate: "hello://{name}", Name: "greeting", Vars: []provider.TemplateVar{{Name: "name", Complete: true}},
		}},
	}
}

func (greeting) Read(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
	name, _ := req.Var("name")
	return &provider.ReadResult{Contents: []provider.Content{
		{MIMEType: "text/plain", Text: true, Body: []byte("Hello, " + name + "!")},
	}}, nil
}

func (greeting) Complete(context.Context, *provider.CompleteRequest) (*provider.CompleteResult, error) {
	return &provider.CompleteResult{Values: []string{"Ann", "Bob"}}, nil
}

// open returns a host with the provider above.
func open() *host.Host {
	h, err := host.New(nil)
	if err == nil {
		err = h.Add(greeting{}, nil)
	}
	if err != nil {
		panic(err)
	}
	return h
}

func ExampleNew() {
	h, err := host.New(&host.Options{Name: "acme", Title: "Acme resources", PageSize: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close(context.Background())
	_, err = host.New(&host.Options{PageSize: -1})
	fmt.Println(err)
	// Output: host options: page size -1 is not between 1 and 10000
}

func ExampleHost_Add() {
	ctx := context.Background()
	h, _ := host.New(nil)
	defer h.Close(ctx)
	fmt.Println(h.Add(greeting{}, nil))
	other, _ := memprovider.New("other", &memprovider.Options{Scheme: "hello"})
	fmt.Println(h.Add(other, nil))
	// Output:
	// <nil>
	// provider "other": the scheme "hello" is claimed by provider "greeting" already; narrow one of them (only)
}

// door is a provider that asks who is there.
type door struct{ provider.Unimplemented }

func (door) Info() provider.Info {
	return provider.Info{Name: "door", Schemes: []string{"door"}, Resources: []provider.Resource{{URI: "door://front", Name: "front"}}}
}

func (door) Read(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
	for _, in := range req.Inputs {
		return &provider.ReadResult{Contents: []provider.Content{{Text: true, Body: []byte(in.Result)}}}, nil
	}
	return &provider.ReadResult{Input: &provider.InputRequired{Requests: []provider.InputRequest{{
		Key: "who", Method: "elicitation/create",
		Params: provider.JSON(`{"message":"Who is there?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`),
	}}}}, nil
}

func ExampleHost_ReadWith() {
	ctx := context.Background()
	h, _ := host.New(nil)
	defer h.Close(ctx)
	_ = h.Add(door{}, nil)
	opts := &host.ReadOptions{InputMethods: []string{"elicitation/create"}}
	for {
		res, err := h.ReadWith(ctx, nil, "door://front", opts)
		if err != nil {
			fmt.Println(err)
			return
		}
		if res.Input == nil {
			fmt.Printf("%s\n", res.Contents[0].Body)
			return
		}
		opts.State, opts.Inputs = res.Input.State, nil
		for _, q := range res.Input.Requests {
			fmt.Println(q.Key, q.Method) // here a person is asked
			opts.Inputs = append(opts.Inputs, provider.InputResponse{Key: q.Key, Result: provider.JSON(`{"action":"decline"}`)})
		}
	}
	// Output:
	// who elicitation/create
	// {"action":"decline"}
}

func ExampleHost_Replace() {
	ctx := context.Background()
	h, _ := host.New(nil)
	defer h.Close(ctx)
	for _, text := range []string{"old", "new"} {
		notes, _ := memprovider.New("notes", nil)
		_ = notes.SetText("a", "text/plain", text)
		if len(h.Providers()) == 0 {
			_ = h.Add(notes, nil)
		} else {
			_ = h.Replace(ctx, notes, nil)
		}
		res, _ := h.Read(ctx, nil, "notes://a")
		fmt.Println(string(res.Contents[0].Body))
	}
	// Output:
	// old
	// new
}

func ExampleHost_Remove() {
	ctx := context.Background()
	h := open()
	defer h.Close(ctx)
	_ = h.Remove(ctx, "greeting")
	_, err := h.Read(ctx, nil, "hello://Ann")
	fmt.Println(err)
	// Output: not_found: resource not found
}

func ExampleHost_Providers() {
	h := open()
	defer h.Close(context.Background())
	for _, info := range h.Providers() {
		fmt.Println(info.Name, info.Schemes)
	}
	// Output: greeting [hello]
}

func ExampleHost_Read() {
	ctx := context.Background()
	h := open()
	defer h.Close(ctx)
	res, err := h.Read(ctx, nil, "hello://J%C3%BCrgen")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Contents[0].URI, string(res.Contents[0].Body))
	_, err = h.Read(ctx, nil, "nobody://x")
	fmt.Println(provider.CodeOf(err))
	// Output:
	// hello://J%C3%BCrgen Hello, Jürgen!
	// not_found
}

func ExampleHost_List() {
	ctx := context.Background()
	h, _ := host.New(&host.Options{PageSize: 2})
	defer h.Close(ctx)
	notes, _ := memprovider.New("notes", nil)
	for _, path := range []string{"a", "b", "c"} {
		_ = notes.SetText(path, "text/plain", path)
	}
	_ = h.Add(notes, nil)
	for cursor := ""; ; {
		page, err := h.List(ctx, nil, cursor)
		if err != nil {
			fmt.Println(err)
			return
		}
		for i := range page.Resources {
			fmt.Println(page.Resources[i].URI)
		}
		fmt.Println("more:", page.Next != "")
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	// Output:
	// notes://a
	// notes://b
	// more: true
	// notes://c
	// more: false
}

func ExampleHost_Templates() {
	ctx := context.Background()
	h := open()
	defer h.Close(ctx)
	page, _ := h.Templates(ctx, nil, "")
	fmt.Println(page.Templates[0].URITemplate)
	// Output: hello://{name}
}

func ExampleHost_Complete() {
	ctx := context.Background()
	h := open()
	defer h.Close(ctx)
	c, _ := h.Complete(ctx, nil, &host.CompleteRequest{Template: "hello://{name}", Argument: "name"})
	fmt.Println(c.Values, *c.Total, c.HasMore)
	// Output: [Ann Bob] 2 false
}

func ExampleHost_Handler() {
	h := open()
	defer h.Close(context.Background())
	server := httptest.NewServer(h.Handler()) // or http.ListenAndServe("127.0.0.1:8642", h.Handler())
	defer server.Close()
	res, err := http.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	fmt.Println(res.Status)
	// Output: 405 Method Not Allowed
}

func ExampleHost_ServeStdio() {
	ctx := context.Background()
	h := open()
	defer h.Close(ctx)
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"hello://Ann","_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n")
	var out strings.Builder
	if err := h.ServeStdio(ctx, in, &out); err != nil { // mostly os.Stdin and os.Stdout
		fmt.Println(err)
	}
	fmt.Println(strings.Contains(out.String(), "Hello, Ann!"))
	// Output: true
}

// A policy is asked before any provider; what it refuses looks like what does not exist.
func ExamplePolicy() {
	ctx := context.Background()
	h, _ := host.New(&host.Options{Policy: membersOnly{}})
	defer h.Close(ctx)
	_ = h.Add(greeting{}, nil)
	_, err := h.Read(ctx, nil, "hello://Ann")
	fmt.Println(err)
	res, _ := h.Read(ctx, &host.Principal{Issuer: "https://idp.example", Subject: "ann"}, "hello://Ann")
	fmt.Println(string(res.Contents[0].Body))
	// Output:
	// not_found: resource not found
	// Hello, Ann!
}

type membersOnly struct{}

func (membersOnly) Allow(_ context.Context, r *host.PolicyRequest) bool {
	return !r.Principal.Anonymous()
}
func (membersOnly) Revision() string { return "1" }
