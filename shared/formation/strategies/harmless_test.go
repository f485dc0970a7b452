package strategies_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/formationtest/adversarial"
	"github.com/mneme-memory/mneme/shared/formation/strategies"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	"github.com/mneme-memory/mneme/shared/text"
)

// TestHarmlessTurnsAreKept forms every harmless turn alone. The turn is kept as evidence in every form. A turn with a
// fence of code gives a memory of the text about the code. The guard takes hardly any turn for an attack.
func TestHarmlessTurnsAreKept(t *testing.T) {
	harmless := adversarial.HarmlessTurns()
	if len(harmless) < 200 {
		t.Fatalf("there are %d harmless turns", len(harmless))
	}
	for _, b := range adversarial.Benign() {
		harmless = append(harmless, adversarial.Harmless{Category: "words", Text: b})
	}
	for i, s := range strategies.All() {
		of := harmless
		if i > 0 { // the detection of attacks is the same for all strategies: a sample shows that the others keep turns, too
			of = nil
			for n := i; n < len(harmless); n += 5 {
				of = append(of, harmless[n])
			}
		}
		t.Run(s.Name+"/embedded", func(t *testing.T) { keep(t, s.Embedded(), of) })
		t.Run(s.Name+"/llm", func(t *testing.T) { keep(t, byModel(t, s, llmtest.FakeModel()), of) })
	}
}

func keep(t *testing.T, f formation.Former, harmless []adversarial.Harmless) {
	t.Parallel()
	held := 0
	for _, h := range harmless {
		l := formationtest.NewLife(f)
		in := formationtest.Session(h.Text)
		if _, _, err := l.Form(t.Context(), in); err != nil {
			t.Fatalf("%q: %v", h.Text, err)
		}
		if kept, err := l.Bank.Turns(t.Context(), in.Scope, []string{in.Turns[0].ID}); err != nil || len(kept) != 1 ||
			kept[0].Text != h.Text {
			t.Errorf("%q is kept as %v, %v", h.Text, kept, err)
		}
		all := l.All(t, in.Scope)
		if slices.ContainsFunc(all, func(m memory.Memory) bool { return m.Status == memory.StatusQuarantined }) {
			held++
			t.Logf("%q is quarantined", h.Text)
		}
		if strings.Contains(h.Text, "```") && !tells(all, prose(h.Text)) {
			t.Errorf("%q makes no memory of its prose: %v", h.Text, all)
		}
	}
	if most := len(harmless) / 100; held > most {
		t.Errorf("%d of %d harmless turns are quarantined, want %d at most", held, len(harmless), most)
	}
}

// prose is the text outside the fences of code.
func prose(said string) string {
	var out strings.Builder
	for i, part := range strings.Split(said, "```") {
		if i%2 == 0 {
			out.WriteString(part + "\n")
		}
	}
	return out.String()
}

// tells reports whether a memory has at least two words of a text.
func tells(memories []memory.Memory, said string) bool {
	stems := text.ContentStems(said)
	return slices.ContainsFunc(memories, func(m memory.Memory) bool {
		have, n := text.StemSet(m.Content+" "+m.Value), 0
		for _, stem := range stems {
			if have[stem] {
				n++
			}
		}
		return n >= min(2, len(stems))
	})
}
