package moment

import (
	"errors"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/classifier"
)

var day = time.Date(2024, 5, 6, 9, 30, 0, 0, time.UTC)

func TestWhatLastsIsNoMatterOfTheMoment(t *testing.T) {
	for said, want := range map[string]bool{
		"My head hurts today.": true, "I'm making soup tonight.": true, "Waiting for the bus right now": true,
		"No time tonight, sorry.":          true,
		"I went to the concert yesterday.": false, "I got married today.": false, "I'm allergic to nuts.": false,
		"I live in Porto now.":                       false,
		"I'm hiking with some friends this weekend.": false, "I have an exam tomorrow.": false,
		"My back hurts when I sit.":          false,
		"I'm waiting for a heart operation.": false, "[shares a photo: soup] I'm making soup tonight.": false, "": false,
	} {
		if got := Passes(formation.Candidate{Kind: memory.KindFact, Content: said}, day, decision.Rules{}); got != want {
			t.Errorf("%q is of the moment: %t", said, got)
		}
	}
	for _, kind := range []memory.Kind{memory.KindPreference, memory.KindProcedural} {
		if Passes(formation.Candidate{Kind: kind, Content: "My head hurts today."}, day, decision.Rules{}) {
			t.Errorf("a %s is of the moment", kind)
		}
	}
}

func TestLastingFactsInTheFrameOfTheMomentAreKept(t *testing.T) {
	for _, said := range []string{
		"I'm in rehab right now", "I'm in prison right now", "I'm in labour right now", "I'm in Crete right now",
		"I'm out of insulin today",
		"I'm at dialysis this morning", "I'm leaving my husband tonight", "I'm at my AA meeting tonight",
		"I'm at the mosque tonight",
		"I'm drinking again tonight", "no coffee today, doctor's orders", "my car is at the garage today, it's a Golf",
	} {
		for _, said := range []string{said, said + "."} {
			if Passes(formation.Candidate{Kind: memory.KindFact, Content: said}, day, decision.Rules{}) {
				t.Errorf("%q is of the moment", said)
			}
		}
	}
}

func TestAWordThatNoStatementOfTheMomentHasKeepsOne(t *testing.T) {
	m := &classifier.Terms{Words: []string{"head", "hurts"}}
	for said, want := range map[string]bool{
		"My head hurts today (2024-05-06).": true, "My stump hurts today.": false, "My head hurts, Will.": false,
		"42 hurts.": false,
	} {
		if Knows(m, said, day) != want {
			t.Errorf("%q: want %t", said, want)
		}
	}
}

func TestWhatIsNoModelIsRefused(t *testing.T) {
	for name, data := range map[string]string{
		"no JSON": "{", "no weights": `{"version":"x","threshold":0.5}`, "no threshold": `{"version":"x","weights":{"a":1}}`,
		"a text as threshold": `{"version":"x","weights":{"a":1},"threshold":"x"}`,
	} {
		if _, err := parse([]byte(data)); !errors.Is(err, classifier.ErrModel) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
