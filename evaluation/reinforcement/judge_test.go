package reinforcement_test

import (
	"testing"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/evaluation/reinforcement"
	"github.com/mneme-memory/mneme/evaluation/synthesis"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

// A transition is of what one session changes, however much is remembered from before: what it leaves as it was counts for neither side,
// in whatever words it is remembered.
func TestATransitionIsOfOneSession(t *testing.T) {
	people, err := synthesis.Generate(synthesis.Options{Seed: 79, Persons: 3, Sessions: 8, Clean: true})
	if err != nil {
		t.Fatal(err)
	}
	o, changed := reinforcement.Defaults().Transition, 0
	for _, p := range people {
		judge, err := reinforcement.NewJudge(t.Context(), p, builtin.New())
		if err != nil {
			t.Fatal(err)
		}
		life, err := formation.Pipeline{
			Former: &salimory.Embedded{Former: embedded.NewFormer(embedded.IdentityOf(salimory.Name))}, Strategy: salimory.Name, Embedder: builtin.New(),
		}.Begin(judge.Subject())
		if err != nil {
			t.Fatal(err)
		}
		for session := range p.Sessions {
			before, err := judge.Remembered(t.Context(), life)
			if err != nil {
				t.Fatal(err)
			}
			brings, changes := 0, false
			for _, target := range p.Targets {
				if target.Session == session && target.Operation != memory.OpNone {
					brings++
					changes = changes || target.Operation != memory.OpAdd
				}
			}
			// A life that stands still is right where nothing is brought or ended.
			if still := judge.Transition(before, before, session, o); (still.F1 == 1) != (brings == 0) {
				t.Errorf("%s, session %d brings %d, and nothing made of it is %+v", p.ID, session, brings, still)
			}
			was, err := life.Formed(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := life.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			after, err := judge.Remembered(t.Context(), life)
			if err != nil {
				t.Fatal(err)
			}
			formed, err := life.Formed(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if made := judge.Transition(before, after, session, o); made.Made > len(formed.Operations)-len(was.Operations)+brings ||
				made.Wanted > 3*brings {
				t.Errorf("%s, session %d brings %d: %+v", p.ID, session, brings, made)
			}
			if retrieved, err := judge.Retrieved(t.Context(), before, life, session); err != nil || changes && !retrieved {
				t.Errorf("%s, session %d: not looked at, %v", p.ID, session, err)
			} else if changes {
				changed++
			}
		}
	}
	if changed == 0 {
		t.Error("nobody changed anything")
	}
}
