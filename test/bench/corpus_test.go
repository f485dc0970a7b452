package bench

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/memory"
)

// The measured system must classify the statements as the corpus intends. Otherwise rows wait for a turn that never
// reaches W, or consolidate more turns than reported.
func TestFilterTellsStatementsFromChatter(t *testing.T) {
	c := newCorpus(1)
	scope := memory.Scope{Tenant: "local", User: "u"}
	for _, kind := range []struct {
		name    string
		say     func() string
		salient bool
	}{{"statements", c.salient, true}, {"chatter", c.chatter, false}} {
		t.Run(kind.name, func(t *testing.T) {
			for range 200 {
				text := kind.say()
				turn := memory.Turn{ID: "t", SessionID: "s", Speaker: "Ines", Role: memory.RoleUser, Text: text}
				decisions, err := saliency.NewTrained().Filter(t.Context(), scope, []memory.Turn{turn}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if decisions[0].Salient != kind.salient {
					t.Errorf("%q: salient %v, want %v", text, decisions[0].Salient, kind.salient)
				}
			}
		})
	}
}
