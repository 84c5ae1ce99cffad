// The conformance guest in Go: README.md one folder up says what it does.
package main

import (
	"strings"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
)

// greeting is parsed once, and is there in every call; calls counts those of this memory, so it is 1 under reset.
var (
	greeting string
	calls    int64
)

var _ = reshost.Register(&reshost.Plugin{
	Name: "sdk", Version: "1", Schemes: []string{"sdk"},
	Resources: []reshost.Resource{{URI: "sdk://hello", Name: "hello", Title: "Hello \"you\"", Read: readHello}},
	Templates: []reshost.Template{
		{URITemplate: "sdk://do/{what}{?n}", Name: "do", MIMEType: "text/plain", Vars: []reshost.Var{{Name: "what"}, {Name: "n"}}, Read: readDo},
		{URITemplate: "sdk://files/{+path}", Name: "files", Vars: []reshost.Var{{Name: "path", Complete: completeFile}}, Read: readFile},
		{
			URITemplate: "sdk://pair/{first}/{second}", Name: "pair", MIMEType: "text/plain",
			Vars: []reshost.Var{{Name: "first", Slash: true}, {Name: "second", Complete: completeSecond}}, Read: readPair,
		},
	},
	List: list,
	Init: initialize,
	Poll: poll, PollMillis: 100,
	Dynamic: &reshost.Dynamic{
		Describe: func(_ *reshost.Call, d *reshost.Description) error {
			d.AddTemplate(reshost.Template{URITemplate: "sdk://late/{key}", Name: "late", Vars: []reshost.Var{{Name: "key"}}})
			return nil
		},
		Read: func(req *reshost.ReadRequest, out *reshost.Response) error {
			return out.Text(req.Template + " " + req.Var("key"))
		},
	},
	Capabilities: []reshost.Capability{{Name: reshost.CapabilityFS, Reason: "reads the files"}},
})

func main() {}

func initialize(c *reshost.InitCall) (err error) {
	greeting, err = c.Config().OneOf("/greeting", "hello", "hello", "servus")
	return err
}

func readHello(_ *reshost.ReadRequest, out *reshost.Response) error {
	calls++
	var j reshost.JSON
	j.BeginObject().Key("greeting").String(greeting).Key("calls").Int(calls).EndObject()
	return out.JSON(j.Bytes())
}

func readDo(req *reshost.ReadRequest, out *reshost.Response) error {
	switch req.Var("what") {
	case "parts":
		return writeParts(req, out)
	case "flood":
		if err := out.Part(reshost.Part{}); err != nil {
			return err
		}
		for {
			if _, err := out.Write(make([]byte, 1<<16)); err != nil {
				return err
			}
		}
	case "large":
		if err := out.Part(reshost.Part{Text: true}); err != nil {
			return err
		}
		for range 16 {
			if _, err := out.WriteString(strings.Repeat("0123456789abcdef", 4096)); err != nil {
				return err
			}
		}
		return nil
	case "empty":
		return out.Text("")
	case "nothing":
		return nil
	case "etag":
		if req.IfETag == "v1" {
			return reshost.ErrNotModified
		}
		out.SetETag("v1")
		out.SetPublic()
		return out.Text("tagged")
	case "typing":
		return out.Text(req.Var("waht"))
	case "trap":
		panic("on purpose")
	case "ask":
		if a, ok := req.Answer("k"); ok {
			return out.Text(a + string(req.State))
		}
		if !req.CanAsk("elicitation/create") {
			return reshost.Unsupported("this client cannot be asked")
		}
		return out.InputRequired([]byte("s"), reshost.Question{Key: "k", Method: "elicitation/create", Params: `{"message":"?","requestedSchema":{"type":"object","properties":{}}}`})
	case "changed":
		req.Updated(req.Scheme("sdk") + "://hello")
		req.ListChanged()
		req.Progress(1, 2, "half")
		req.Log(reshost.LevelWarning, "a line")
		n, ok := req.LookupVar("n")
		if !ok {
			n = "none"
		}
		return out.Text(n)
	}
	return fail(req.Var("what"), req.URI)
}

// fail has a case for each code.
func fail(what, uri string) error {
	switch what {
	case "invalid":
		return reshost.Invalid("the reason")
	case "denied":
		return reshost.Denied("the reason")
	case "unavailable":
		return reshost.Unavailable("later", 1500)
	case "internal":
		return reshost.Internal("the reason")
	case "too-large":
		return reshost.TooLarge("the reason")
	case "unsupported":
		return reshost.Unsupported("the reason")
	}
	return reshost.NotFound(uri)
}

func writeParts(req *reshost.ReadRequest, out *reshost.Response) error {
	out.SetTTL(1500)
	out.SetETag("v1")
	part := reshost.Part{Text: true, URI: req.Scheme("sdk") + "://hello", MIMEType: "text/x-test", Meta: `{"test.example/a":1}`}
	if err := out.Part(part); err != nil {
		return err
	}
	for range 3 {
		if _, err := out.WriteString("é"); err != nil {
			return err
		}
	}
	if err := out.Part(reshost.Part{MIMEType: "application/octet-stream"}); err != nil {
		return err
	}
	_, err := out.Write([]byte{0, 255})
	return err
}

func readPair(req *reshost.ReadRequest, out *reshost.Response) error {
	return out.Text(req.Var("first") + "|" + req.Var("second"))
}

func completeSecond(req *reshost.CompleteRequest, out *reshost.Completion) error {
	first, ok := req.Known("first")
	if !ok {
		first = "?"
	}
	for range 3 {
		out.Add(first + "-" + req.Value)
	}
	out.SetTotal(7)
	return nil
}

func readFile(req *reshost.ReadRequest, out *reshost.Response) error {
	if err := out.Part(reshost.Part{}); err != nil {
		return err
	}
	return req.FS().CopyFile(out, "main/"+req.Var("path"))
}

func list(req *reshost.ListRequest, out *reshost.ListResponse) error {
	for info, err := range req.FS().Entries("main", req.Cursor) {
		if err != nil {
			return err
		}
		r := reshost.Resource{
			URI: req.Scheme("sdk") + "://files/" + reshost.EscapePath(info.Name), Name: info.Name, Size: reshost.Bytes(info.Size),
		}
		if !out.Add(r, info.Name) {
			break
		}
	}
	return nil
}

func completeFile(req *reshost.CompleteRequest, out *reshost.Completion) error {
	for info, err := range req.FS().Entries("main", "") {
		if err != nil {
			return err
		}
		out.Add(info.Name)
	}
	return nil
}

// poll counts in its state, and reports everything that is watched.
func poll(req *reshost.PollRequest, out *reshost.PollResponse) error {
	for _, uri := range req.Watched {
		req.Updated(uri)
	}
	if len(req.State) == 2 {
		req.ListChanged()
	}
	out.SetState(append(req.State, 'x'))
	return nil
}
