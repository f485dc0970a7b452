package features_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/ranking/features"
)

// odds are the log odds that the results from a talk answer a query.
func odds(t *testing.T, c *talk, query string) float64 {
	t.Helper()
	s, err := features.ShippedSupport()
	if err != nil {
		t.Fatal(err)
	}
	prior, err := features.Prior()
	if err != nil {
		t.Fatal(err)
	}
	x := features.New(wordvector.Shipped(), c.memories, c.turns)
	return s.LogOdds(x.Candidates(asking(query), prior.Weights.W, features.SupportDepth))
}

func TestSupportIsOfTheOneWhoIsNamed(t *testing.T) {
	for right, wrong := range map[string]string{
		"Which vase did Ida make?":                     "Which vase did Bruno make?",
		"What did Bruno's parrot learn to do?":         "What did Ida's parrot learn to do?",
		"How many suitcases did Bruno have in Lisbon?": "How many suitcases did Ida have in Lisbon?",
	} {
		if r, w := odds(t, house(), right), odds(t, house(), wrong); r <= 0 || w >= 0 {
			t.Errorf("%s %.2f, %s %.2f: want more than 0, less than 0", right, r, wrong, w)
		}
	}
}

// A user's query is not about the assistant, even if the assistant spoke about its topic.
func TestNobodyIsMistakenForAnAssistant(t *testing.T) {
	c := &talk{}
	c.say(0, "Ida", "I am learning to dance.")
	c.say(0, "Bruno", "Tango lessons in Lisbon begin in May, and tango shoes need leather soles.")
	for i := range c.turns {
		if c.turns[i].Speaker == "Bruno" {
			c.turns[i].Role = memory.RoleAssistant
		}
	}
	if got := odds(t, c, "Where should I take tango lessons?"); got <= 0 {
		t.Errorf("the odds are %.2f, want more than 0", got)
	}
}

func TestSupportOfNothingIsNotKnown(t *testing.T) {
	if o := odds(t, &talk{}, "What did Ida break?"); o != 0 {
		t.Errorf("got %v", o)
	}
}
