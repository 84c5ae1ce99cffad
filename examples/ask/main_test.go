package main

import (
	"strings"
	"testing"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
	"github.com/reshost/reshost/sdk-guest/go/reshost/reshosttest"
)

const pancakes = "recipe://pancakes"

// round is one read, with the answer to the question of that key.
func round(t *testing.T, state []byte, key, answer string) (*reshosttest.ReadResult, error) {
	t.Helper()
	o := reshosttest.ReadOptions{State: state, InputMethods: []string{reshost.MethodElicit}}
	if key != "" {
		o.Answers = []reshost.Answer{{Key: key, JSON: answer}}
	}
	return reshosttest.New(t, newPlugin(), nil).ReadWith(pancakes, o)
}

func TestOneQuestion(t *testing.T) {
	asked, err := round(t, nil, "", "")
	if err != nil || len(asked.Questions) != 1 || asked.Questions[0].Key != keyTable || asked.State != nil {
		t.Fatalf("%+v %v", asked, err)
	}
	for answer, want := range map[string]string{
		`{"action":"accept","content":{"people":3}}`:              "# Pancakes for 3\n\n- 180 g of flour\n- 360 ml of milk\n- 2 eggs\n",
		`{"action":"accept","content":{"people":2,"plant":true}}`: "# Pancakes for 2\n\n- 120 g of flour\n- 240 ml of oat milk\n- 1 bananas\n",
		`{"action":"decline"}`:                                    "# Pancakes for 4\n",
		`{"action":"cancel"}`:                                     "# Pancakes for 4\n",
	} {
		got, err := round(t, nil, keyTable, answer)
		if err != nil || !strings.HasPrefix(got.Text(), want) {
			t.Errorf("%s: %+v %v", answer, got, err)
		}
	}
}

// What no form would send is asked for again.
func TestUnusableAnswers(t *testing.T) {
	for _, answer := range []string{
		`{"action":"accept"}`, `{"action":"accept","content":{}}`, `{"action":"accept","content":{"people":"3"}}`,
		`{"action":"accept","content":{"people":0}}`, `{"action":"accept","content":{"people":501}}`, `{"action":"accept","content":{"people":-1e9}}`,
	} {
		got, err := round(t, nil, keyTable, answer)
		if err != nil || len(got.Questions) != 1 || got.Questions[0].Key != keyTable {
			t.Errorf("%s: %+v %v", answer, got, err)
		}
	}
}

// The second round's answers come without the first's: those are in the state.
func TestTwoQuestions(t *testing.T) {
	asked, err := round(t, nil, keyTable, `{"action":"accept","content":{"people":40,"plant":true}}`)
	if err != nil || len(asked.Questions) != 1 || asked.Questions[0].Key != keySure || asked.State == nil {
		t.Fatalf("%+v %v", asked, err)
	}
	got, err := round(t, asked.State, keySure, `{"action":"accept","content":{"sure":true}}`)
	if err != nil || !strings.HasPrefix(got.Text(), "# Pancakes for 40\n") || !strings.Contains(got.Text(), "oat milk") {
		t.Errorf("%+v %v", got, err)
	}
	again, err := round(t, asked.State, keySure, `{"action":"accept","content":{"sure":false}}`)
	if err != nil || len(again.Questions) != 1 || again.Questions[0].Key != keyTable {
		t.Errorf("not sure: %+v %v", again, err)
	}
	if _, err := round(t, asked.State, keySure, `{"action":"decline"}`); err == nil {
		t.Error("a recipe for 40 that nobody wanted")
	}
}

func TestCannotBeAsked(t *testing.T) {
	got, err := reshosttest.New(t, newPlugin(), nil).Read(pancakes)
	if err != nil || !strings.HasPrefix(got.Text(), "# Pancakes for 4\n") {
		t.Errorf("%+v %v", got, err)
	}
}
