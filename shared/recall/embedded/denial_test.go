package embedded_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/recall/embedded"
)

// An answer does not state the opposite of a question, even if the opposite is newer.
func TestAnAnswerDoesNotTurnTheQuestionAround(t *testing.T) {
	for _, c := range []struct{ question, right, opposite string }{
		{"What can't I drink?", "I can't drink milk or cider.", "I can drink tea again."},
		{"Which herbs am I allergic to?", "I'm allergic to sage and dill.", "I'm not allergic to mint after all."},
		{"Where do I not swim?", "I don't swim in lakes.", "I swim in the new pool."},
	} {
		older := at(mem("a", memory.KindFact, c.right), 2025, time.May, 1)
		newer := at(mem("b", memory.KindFact, c.opposite), 2025, time.June, 1)
		older.ValidFrom, newer.ValidFrom = older.EventTime.Time, newer.EventTime.Time
		e := recall.Evidence{Query: asked(c.question), Memories: []memory.Memory{newer, older}, WordBudget: 200}
		got, err := embedded.NewGenerator().Answer(t.Context(), memory.Scope{}, e, profile(t, e))
		if err != nil || !strings.Contains(got.Text, c.right) {
			t.Errorf("%q gets %q, %v", c.question, got.Text, err)
		}
	}
}

// A newer memory that denies the older one's own words corrects it. One about another thing leaves it.
func TestALinkedDenialCorrectsWhatItNames(t *testing.T) {
	for denial, answers := range map[string]string{
		"I don't work at the mill any more.":  "any more",
		"I don't work on the ferry any more.": "I work at the mill.",
	} {
		older := at(mem("a", memory.KindFact, "I work at the mill."), 2025, time.May, 1)
		newer := at(mem("b", memory.KindFact, denial), 2025, time.June, 1)
		older.ValidFrom, newer.ValidFrom, newer.Links = older.EventTime.Time, newer.EventTime.Time, []string{"a"}
		e := recall.Evidence{Query: asked("Where do I work?"), Memories: []memory.Memory{newer, older}, WordBudget: 200}
		got, err := embedded.NewGenerator().Answer(t.Context(), memory.Scope{}, e, profile(t, e))
		if err != nil || !strings.Contains(got.Text, answers) {
			t.Errorf("%q gets %q, %v", denial, got.Text, err)
		}
	}
}
