package people_test

import (
	"testing"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/people"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/memoryr2"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

// A statement in the past part of another entry holds no more. It counts as closed if the case expects its end, and
// as lost otherwise.
func TestWhatWasBeforeIsNotTold(t *testing.T) {
	said := func(text string) []corpus.CaseTurn {
		return []corpus.CaseTurn{{Speaker: "Ana", Role: memory.RoleUser, Text: text}}
	}
	c := corpus.Case{ID: "c", Kind: "move", Speaker: "Ana", First: said("I live in Porto."),
		Second: said("I live in Braga now.")}
	closing, keeping := c, c
	closing.Close, keeping.Keep = []string{"I live in Porto"}, []string{"I live in Porto"}
	f := &memoryr2.Embedded{Former: formationtest.Quoting(memoryr2.Name,
		formationtest.Judged{Later: "Braga", Stored: "Porto", Does: relation.Replaces})}
	v := formation.Variant{Strategy: memoryr2.Name, Filter: saliency.NewTrained(), Former: f}
	r, err := people.MeasureCases(t.Context(), v, builtin.New(), []corpus.Case{closing, keeping})
	if err != nil || r.Close != 1 || r.Closed != 1 || r.Keep != 1 || r.Kept != 0 {
		t.Errorf("got %+v, %v", r, err)
	}
}
