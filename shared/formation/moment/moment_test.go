package moment

import (
	"errors"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text/linear"
)

var day = time.Date(2024, 5, 6, 9, 30, 0, 0, time.UTC)

func TestWhatLastsIsNoMatterOfTheMoment(t *testing.T) {
	for said, want := range map[string]bool{
		"My head hurts today.": true, "I'm making soup tonight.": true, "I'm waiting for a delivery, can't go out.": true,
		"No electricity here this morning.": true,
		"I went to the concert yesterday.":  false, "I got married today.": false, "I'm allergic to nuts.": false, "I live in Porto now.": false,
		"I'm hiking with some friends this weekend.": false, "I have an exam tomorrow.": false, "My back hurts when I sit.": false,
		"I'm waiting for a heart operation.": false, "[shares a photo: soup] I'm making soup tonight.": false, "": false,
	} {
		if got := Passes(formation.Candidate{Kind: memory.KindFact, Content: said}, day); got != want {
			t.Errorf("%q is of the moment: %t", said, got)
		}
	}
	for _, kind := range []memory.Kind{memory.KindPreference, memory.KindProcedural} {
		if Passes(formation.Candidate{Kind: kind, Content: "My head hurts today."}, day) {
			t.Errorf("a %s is of the moment", kind)
		}
	}
}

func TestWhatIsNoModelIsRefused(t *testing.T) {
	for name, data := range map[string]string{
		"no JSON": "{", "no weights": `{"version":"x","threshold":0.5}`, "no threshold": `{"version":"x","weights":{"a":1}}`,
		"a text as threshold": `{"version":"x","weights":{"a":1},"threshold":"x"}`,
	} {
		if _, err := parse([]byte(data)); !errors.Is(err, linear.ErrModel) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
