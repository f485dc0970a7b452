package embedded_test

import (
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/recall/embedded"
)

// A memory answers what its earlier versions answered. A question that none of them answered stays without an answer.
func TestAMemoryAnswersAsItsEarlierVersions(t *testing.T) {
	for name, c := range map[string]struct {
		query  string
		before []string
		now    string
		want   string
	}{
		"a tool": {"Which editor do I use?", []string{"I use Vim as my editor."}, "I switched to Helix.", "Helix"},
		"two changes": {"Which bank do I use?", []string{"I went to N26.", "My bank is Sparkasse."}, "Now I am with Revolut.",
			"Revolut"},
		"a yes or no": {"Am I vegan?", []string{"I'm vegan."}, "I eat fish again these days.", "fish"},
		"Spanish":     {"¿Qué coche tengo?", []string{"Tengo un coche Seat."}, "Cambié al Dacia en mayo.", "Dacia"},
		"German": {"Welchen Tarif habe ich beim Strom?", []string{"Mein Tarif beim Strom ist Basis."},
			"Ich bin zu Öko gewechselt.", "Öko"},
		"another question": {"Which airline lost the suitcase?", []string{"I use Vim as my editor."}, "I switched to Helix.",
			recall.Abstention},
		"no earlier one": {"Which editor do I use?", nil, "I switched to Helix.", recall.Abstention},
		"someone else's": {"Which editor does Bo use?", []string{"I use Vim as my editor."}, "I switched to Helix.",
			recall.Abstention},
		"the words it used": {"Where do I live?", []string{"I live in Lyon."}, "I live in Nantes now.", "Nantes"},
	} {
		m := saidBy("Ana", mem("new", memory.KindFact, c.now))
		e := recall.Evidence{
			Query: asked(c.query), WordBudget: 200, Memories: []memory.Memory{m}, Replaced: map[string][]memory.Memory{},
			Owner:  memory.OwnerOf(scope, []memory.Turn{{Speaker: "Ana", Role: memory.RoleUser}}),
			Window: []memory.Turn{{ID: "w", Speaker: "Bo", Role: memory.RoleUser, Text: "Good morning.", Time: now}},
		}
		for _, old := range c.before {
			o := saidBy("Ana", mem("old", memory.KindFact, old))
			o.Status, o.ValidFrom = memory.StatusSuperseded, now.AddDate(0, -1, 0)
			e.Replaced[m.ID] = append(e.Replaced[m.ID], o)
		}
		a, err := embedded.NewGenerator().Answer(t.Context(), scope, e, profile(t, e))
		if err != nil || !strings.Contains(a.Text, c.want) {
			t.Errorf("%s: got %+v, %v, want %s", name, a, err, c.want)
		}
	}
}

// TestOwnWordsCountMoreThanThoseOfAnEarlierVersion has a word of the question in an earlier version by chance.
func TestOwnWordsCountMoreThanThoseOfAnEarlierVersion(t *testing.T) {
	job := saidBy("Ana", mem("job", memory.KindFact, "I work as a head nurse."))
	swim := saidBy("Ana", mem("swim", memory.KindFact, "I stopped swimming on Tuesdays."))
	job.ValidFrom, swim.ValidFrom = now.AddDate(0, -2, 0), now.AddDate(0, -1, 0)
	old := saidBy("Ana", mem("old", memory.KindFact, "Every Tuesday I swim before work."))
	e := recall.Evidence{
		Query: asked("What does Ana do for work?"), WordBudget: 200, Memories: []memory.Memory{swim, job},
		Replaced: map[string][]memory.Memory{"swim": {old}},
		Owner:    memory.OwnerOf(scope, []memory.Turn{{Speaker: "Ana", Role: memory.RoleUser}}),
	}
	a, err := embedded.NewGenerator().Answer(t.Context(), scope, e, profile(t, e))
	if err != nil || !strings.Contains(a.Text, "head nurse") {
		t.Errorf("got %+v, %v", a, err)
	}
}
