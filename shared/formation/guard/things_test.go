package guard_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/guard"
	"github.com/mneme-memory/mneme/shared/memory"
)

// What unnamed others did with the speaker's thing changes the speaker's entry of it.
func TestUnnamedOthersChangeTheUsersThing(t *testing.T) {
	for said, want := range map[string]memory.OpKind{
		"They moved my appointment to Friday.": memory.OpUpdate, "They changed it to Friday.": memory.OpUpdate,
		"They have an appointment on Friday.": memory.OpAdd, "They saw it on Friday.": memory.OpAdd,
		"They think my appointment is on Friday.": memory.OpAdd,
	} {
		m, known := formationtest.Stored("n1", said), formationtest.Stored("m1", "My appointment is on Monday.")
		s := &spy{next: formation.Verdict{Operations: []memory.Operation{
			{Kind: memory.OpUpdate, Targets: []string{"m1"}, Sources: []string{"turn-a"}, New: &m, Anew: true},
		}}}
		got, err := guard.New(s).Decide(t.Context(), formationtest.Bundle([]string{said}, known))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Operations) != 1 || got.Operations[0].Kind != want {
			t.Errorf("%q: got %+v, want %s", said, got.Operations, want)
		}
	}
}
