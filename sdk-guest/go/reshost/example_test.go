package reshost_test

import (
	"fmt"
	"testing"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
	"github.com/reshost/reshost/sdk-guest/go/reshost/reshosttest"
)

func greeter() *reshost.Plugin {
	return &reshost.Plugin{
		Name:    "greeter",
		Version: "1.0.0",
		Schemes: []string{"greet"},
		Templates: []reshost.Template{{
			URITemplate: "greet://{name}",
			Name:        "greeting",
			Vars:        []reshost.Var{{Name: "name"}},
			Read: func(req *reshost.ReadRequest, out *reshost.Response) error {
				return out.Text("Hello, " + req.Var("name") + "!")
			},
		}},
	}
}

func TestGreeting(t *testing.T) {
	g := reshosttest.New(t, greeter(), nil)
	got, err := g.Read("greet://Ada%20L")
	if err != nil || got.Text() != "Hello, Ada L!" {
		t.Errorf("read = %v, %v", got, err)
	}
}

func ExampleJSON() {
	var j reshost.JSON
	j.BeginObject()
	j.Key("name").String("a \"b\".md")
	j.Key("sizes").BeginArray().Int(1).Int(-2).EndArray()
	j.Key("open").Bool(true)
	j.EndObject()
	fmt.Println(string(j.Bytes()))
	// Output: {"name":"a \"b\".md","sizes":[1,-2],"open":true}
}

func ExampleEscapePath() {
	fmt.Println("file:///" + reshost.EscapePath("a b/c?.txt"))
	fmt.Println("docs://" + reshost.EscapeSegment("a:b/é.md"))
	// Output:
	// file:///a%20b/c%3F.txt
	// docs://a%3Ab%2F%C3%A9.md
}

func ExamplePlugin_Check() {
	p := greeter()
	p.Templates[0].Vars[0].Name = "nmae"
	fmt.Println(p.Check())
	// Output: template greet://{name}: variable "name" is not in Vars: the handler does not take it
}
