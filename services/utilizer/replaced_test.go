package utilizer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

// replace stores a statement, and a newer one in its place that shares no word with it, among many other statements.
func replace(t *testing.T, r *utilizer.Recaller, older, newer string) {
	t.Helper()
	said := []string{older, newer}
	for i := range 40 {
		said = append(said, fmt.Sprintf("I paid invoice %d of the garage today.", i))
	}
	vectors, err := builtin.New().Embed(t.Context(), said)
	if err != nil {
		t.Fatal(err)
	}
	var w memory.Write
	for i, content := range said {
		turn, at := fmt.Sprintf("r%d", i), now.AddDate(0, -3, i)
		m := memory.Memory{
			ID: memory.DeriveID(ana, []string{turn}, 0), Kind: memory.KindFact, Content: content, Speaker: "Ana", Version: 1,
			Status: memory.StatusActive, RecordedAt: at, ValidFrom: at, Sources: []string{turn}, SessionID: turn,
			Vector: vectors[i],
		}
		if i == 1 {
			m.Version, m.Predecessors = 2, []string{w.Put[0].ID}
			w.Put[0].Status, w.Put[0].ValidTo = memory.StatusSuperseded, at
		}
		w.Put = append(w.Put, m)
		w.Turns = append(w.Turns, memory.Turn{ID: turn, SessionID: turn, Speaker: "Ana", Role: memory.RoleUser, Text: content,
			Time: at})
	}
	if err := r.Bank.Write(t.Context(), ana, w); err != nil {
		t.Fatal(err)
	}
}

// A newer statement without the words of its earlier version is found by these, and answers what that answered.
func TestANewerStatementAnswersAsItsEarlierVersion(t *testing.T) {
	for name, room := range map[string]utilizer.IndexCacheOptions{"all that is remembered": roomy,
		"the bank's search": {}} {
		for _, c := range []struct{ older, newer, query, want, not string }{
			{"My editor at work is Vim.", "I switched to Helix.", "Which editor do I use at work?", "Helix", "Vim"},
			{"I teach chemistry at the Weber school.", "They moved me to physics.", "What do I teach at the Weber school?",
				"physics", "chemistry"},
		} {
			r := newRecaller(t)
			r.Indexes, r.Ranker = newIndexCache(t, r.Bank, room), ordering{}
			replace(t, r, c.older, c.newer)
			got, err := r.Recall(t.Context(), acme, utilizer.Request{User: ana.User, Query: c.query, Candidates: 20, Memories: 3,
				WordBudget: 250})
			if err != nil {
				t.Fatal(err)
			}
			_, generator, err := r.Policies("")
			if err != nil {
				t.Fatal(err)
			}
			answer, err := generator.Answer(t.Context(), ana, got.Evidence, got.Profile)
			if err != nil || !strings.Contains(answer.Text, c.want) || strings.Contains(answer.Text, c.not) {
				t.Errorf("%s: %s: answers %q, %v, want %s", name, c.query, answer.Text, err, c.want)
			}
			if p := profileText(got); !strings.Contains(p, c.want) || strings.Contains(p, c.not) {
				t.Errorf("%s: %s: the profile is %s, want %s", name, c.query, p, c.want)
			}
		}
	}
}
