// Plugin conformance serves the resources that the official conformance suite of the protocol asks a server for.
// README.md says how to run the suite.
package main

import (
	"strconv"
	"strings"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
)

const (
	scheme     = "test"
	watchedURI = scheme + "://watched-resource"
	varID      = "id"

	// tickMillis is how long the watched resource stays the same.
	tickMillis = 2000
)

// pixel is a PNG image of one grey pixel.
const pixel = "" +
	"\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x01\x00\x00\x00\x01\x08" +
	"\x00\x00\x00\x00\x3a\x7e\x9b\x55\x00\x00\x00\x0a\x49\x44\x41\x54\x78\xda\x63\x68\x00\x00\x00\x82\x00" +
	"\x81\xda\x45\x08\x3b\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82"

var _ = reshost.Register(newPlugin())

func newPlugin() *reshost.Plugin {
	return &reshost.Plugin{
		Name:    "conformance",
		Version: "1.0.0",
		Schemes: []string{scheme},
		Resources: []reshost.Resource{
			{
				URI: scheme + "://static-text", Name: "static-text", Title: "A text",
				Description: "A text that never changes.", MIMEType: "text/plain",
				Read: func(_ *reshost.ReadRequest, out *reshost.Response) error {
					return out.Text("This is the content of the static text resource.\n")
				},
			},
			{
				URI: scheme + "://static-binary", Name: "static-binary", Title: "An image",
				Description: "An image of one pixel that never changes.", MIMEType: "image/png",
				Read: func(_ *reshost.ReadRequest, out *reshost.Response) error {
					return out.Bytes([]byte(pixel))
				},
			},
			{
				URI: watchedURI, Name: "watched-resource", Title: "A changing text",
				Description: "A text that is another one every two seconds.", MIMEType: "text/plain",
				Read: readWatched,
			},
		},
		Templates: []reshost.Template{{
			URITemplate: scheme + "://template/{id}/data",
			Name:        "template-data",
			Title:       "Data by id",
			Description: "An object that holds the id of its URI.",
			MIMEType:    "application/json",
			Vars:        []reshost.Var{{Name: varID, Complete: completeID}},
			Read:        readData,
		}},
		Poll:       poll,
		PollMillis: tickMillis,
	}
}

func main() {}

// tick numbers the versions of the watched resource.
func tick(nowMillis int64) string { return strconv.FormatInt(nowMillis/tickMillis, 10) }

func readWatched(req *reshost.ReadRequest, out *reshost.Response) error {
	return out.Text("This is version " + tick(req.NowMillis) + " of the watched resource.\n")
}

func readData(req *reshost.ReadRequest, out *reshost.Response) error {
	var j reshost.JSON
	j.BeginObject()
	j.Key(varID).String(req.Var(varID))
	j.Key("data").String("Data for id " + req.Var(varID))
	j.EndObject()
	return out.JSON(j.Bytes())
}

func completeID(req *reshost.CompleteRequest, out *reshost.Completion) error {
	for _, id := range []string{"1", "12", "123"} {
		if strings.HasPrefix(id, req.Value) && !out.Add(id) {
			break
		}
	}
	return nil
}

// poll reports the watched resource when its version is another one than at the poll before.
func poll(req *reshost.PollRequest, out *reshost.PollResponse) error {
	now := tick(req.NowMillis)
	if before := string(req.State); before != "" && before != now {
		req.Updated(watchedURI)
	}
	out.SetState([]byte(now))
	return nil
}
