// Plugin ask serves a recipe for as many people as its reader says. It shows how a plugin asks the client for more, keeps what it must
// remember between two rounds in a state, and gets along with a client that refuses or cannot be asked.
package main

import (
	"strconv"
	"strings"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
)

const (
	scheme = "recipe"

	// The keys of the questions, and the fields of their forms.
	keyTable   = "table"
	keySure    = "sure"
	people     = "people"
	plant      = "plant"
	sure       = "sure"
	manyPeople = 12
	mostPeople = 500
)

var _ = reshost.Register(newPlugin())

func newPlugin() *reshost.Plugin {
	return &reshost.Plugin{
		Name:    "ask",
		Version: "1.0.0",
		Schemes: []string{scheme},
		Resources: []reshost.Resource{{
			URI: scheme + "://pancakes", Name: "pancakes", Title: "Pancakes",
			Description: "A recipe for as many people as are at the table: it asks for their number.", MIMEType: "text/markdown",
			Read: readPancakes,
		}},
	}
}

func main() {}

// table is who is at the table.
type table struct {
	people int64
	plant  bool
}

// readPancakes takes up to three rounds: who is at the table, whether that many are meant, the recipe.
func readPancakes(req *reshost.ReadRequest, out *reshost.Response) error {
	// The second question has been put: the state holds what the first one brought.
	if t, ok := parseState(string(req.State)); ok {
		if e, ok := req.Elicited(keySure); ok && e.Accepted {
			if yes, _ := e.Bool(sure); yes {
				return out.Text(recipe(t))
			}
			return askTable(out) // no: so who is?
		}
		return reshost.Invalid("a recipe for " + strconv.FormatInt(t.people, 10) + " people was not confirmed: read it again")
	}
	e, answered := req.Elicited(keyTable)
	switch {
	case answered && e.Accepted:
		n, ok := e.Int(people)
		if !ok || n < 1 || n > mostPeople {
			return askTable(out) // the client's word: it may be anything
		}
		t := table{people: n}
		t.plant, _ = e.Bool(plant)
		if n > manyPeople {
			return askSure(out, t)
		}
		return out.Text(recipe(t))
	case answered, !req.CanAsk(reshost.MethodElicit):
		// Who does not want to say, or cannot be asked, gets the recipe as the book has it.
		return out.Text(recipe(table{people: 4}))
	}
	return askTable(out)
}

func askTable(out *reshost.Response) error {
	return out.InputRequired(nil, reshost.Form(keyTable, "How many pancakes will it be?",
		reshost.Field{Name: people, Title: "People at the table", Description: "1 to " + strconv.Itoa(mostPeople), Type: reshost.TypeInteger},
		reshost.Field{Name: plant, Title: "Without milk and eggs", Type: reshost.TypeBoolean, Optional: true},
	))
}

// askSure keeps the table in the state. The host seals it, so that it comes back as it is, for this reader and this recipe.
func askSure(out *reshost.Response, t table) error {
	n := strconv.FormatInt(t.people, 10)
	return out.InputRequired([]byte(t.state()), reshost.Form(keySure, "Really for "+n+" people?",
		reshost.Field{Name: sure, Title: "Yes, for " + n, Type: reshost.TypeBoolean},
	))
}

func (t table) state() string {
	return strconv.FormatInt(t.people, 10) + " " + strconv.FormatBool(t.plant)
}

func parseState(s string) (t table, ok bool) {
	n, plant, ok := strings.Cut(s, " ")
	if !ok {
		return t, false
	}
	var err error
	t.people, err = strconv.ParseInt(n, 10, 64)
	t.plant = plant == "true"
	return t, err == nil
}

func recipe(t table) string {
	milk, egg := "milk", "eggs"
	if t.plant {
		milk, egg = "oat milk", "bananas"
	}
	line := func(each, unit int64, what string) string {
		return "- " + strconv.FormatInt((each*t.people+unit-1)/unit, 10) + " " + what + "\n"
	}
	return "# Pancakes for " + strconv.FormatInt(t.people, 10) + "\n\n" +
		line(60, 1, "g of flour") + line(120, 1, "ml of "+milk) + line(1, 2, egg) +
		"\nMix, wait ten minutes, fry.\n"
}
