// Sdkguest is a guest on the Go SDK that does everything the SDK can, for the test beside testdata.
package main

import (
	"github.com/reshost/reshost/sdk-guest/go/reshost"
)

// greeting is parsed once, and is there in every call; calls counts those of this memory, so it is 1 under reset.
var (
	greeting string
	calls    int64
)

var _ = reshost.Register(&reshost.Plugin{
	Name: "sdk", Version: "1", Schemes: []string{"sdk"},
	Resources: []reshost.Resource{{URI: "sdk://hello", Name: "hello", Read: readHello}},
	Templates: []reshost.Template{
		{URITemplate: "sdk://do/{what}{?n}", Name: "do", Vars: []reshost.Var{{Name: "what"}, {Name: "n"}}, Read: readDo},
		{URITemplate: "sdk://files/{+path}", Name: "files", Vars: []reshost.Var{{Name: "path", Complete: complete}}, Read: readFile},
	},
	List: list,
	Init: initialize,
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
		out.SetTTL(1500)
		out.SetETag("v1")
		if err := out.Part(reshost.Part{Text: true, URI: req.Scheme("sdk") + "://hello", Meta: `{"test.example/a":1}`}); err != nil {
			return err
		}
		for range 3 {
			if _, err := out.WriteString("é"); err != nil {
				return err
			}
		}
		return out.Bytes([]byte{0, 255})
	case "flood":
		if err := out.Part(reshost.Part{}); err != nil {
			return err
		}
		for {
			if _, err := out.Write(make([]byte, 1<<16)); err != nil {
				return err
			}
		}
	case "unavailable":
		return reshost.Unavailable("later", 1500)
	case "typing":
		return out.Text(req.Var("waht"))
	case "panic":
		panic("on purpose")
	case "ask":
		if a, ok := req.Answer("k"); ok {
			return out.Text(a + string(req.State))
		}
		return out.InputRequired([]byte("s"), reshost.Question{Key: "k", Method: "elicitation/create", Params: `{"message":"?"}`})
	case "changed":
		req.Updated(req.Scheme("sdk") + "://hello")
		req.ListChanged()
		req.Progress(1, 2, "half")
		req.Log(reshost.LevelWarning, "a line")
		return out.Text(req.Var("n"))
	}
	return reshost.NotFound(req.URI)
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
			Annotations: &reshost.Annotations{LastModifiedMillis: info.ModMillis},
		}
		if !out.Add(r, info.Name) {
			break
		}
	}
	return nil
}

func complete(req *reshost.CompleteRequest, out *reshost.Completion) error {
	for info, err := range req.FS().Entries("main", "") {
		if err != nil {
			return err
		}
		out.Add(info.Name)
	}
	return nil
}
