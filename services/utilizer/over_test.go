package utilizer_test

import (
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/services/utilizer"
)

// A limit that ended on an earlier day is not shown as current, neither as a memory nor in the words behind it. A
// question about its time still gets it, and so does everybody before that day.
func TestALimitOfEarlierIsNotShownAsCurrent(t *testing.T) {
	for name, c := range map[string]struct {
		said, memory, query string
		shown               bool
	}{
		"over": {
			"I wear a brace until February.", "I wear a brace until February (2026-02).",
			"What do I wear?", false,
		},
		"a week that ended": {
			"I'm in Oslo this week.", "I'm in Oslo this week (week of 2026-02-02).",
			"Where am I?", false,
		},
		"asked for its end": {
			"I wear a brace until February.", "I wear a brace until February (2026-02).",
			"Until when do I wear a brace?", true,
		},
		"not over": {
			"I wear a brace until May.", "I wear a brace until May (2026-05).",
			"What do I wear?", true,
		},
		"two statements": {
			"I'm vegan and I'm in Oslo this week.", "I'm vegan and I'm in Oslo this week (week of 2026-02-02).",
			"Where am I?", true,
		},
		"a change": {
			"I'm moving to Oslo this week.", "I'm moving to Oslo this week (week of 2026-02-02).",
			"Where am I?", true,
		},
		"an event": {
			"I was in Oslo this week.", "I was in Oslo this week (week of 2026-02-02).",
			"Where am I?", true,
		},
	} {
		for way, room := range map[string]utilizer.IndexCacheOptions{"all that is remembered": roomy,
			"the bank's search": {}} {
			r := newRecaller(t)
			closes(t, r, c.said, "", "I had a cold.", c.memory)
			r.Indexes = newIndexCache(t, r.Bank, room)
			got, err := r.Recall(t.Context(), acme, utilizer.Request{
				User: ana.User, Query: c.query, Candidates: 20, Memories: 20, WordBudget: 250,
			})
			if err != nil {
				t.Fatal(err)
			}
			shown := strings.Join(contents(got.Evidence.Memories), " ")
			for _, turn := range got.Evidence.Window {
				shown += " " + turn.Text
			}
			if has := strings.Contains(shown, "brace") || strings.Contains(shown, "Oslo"); has != c.shown {
				t.Errorf("%s, %s: %q is shown, want it there: %t", name, way, shown, c.shown)
			}
		}
	}
}
