package strategies_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/formationtest/adversarial"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/strategies"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

var thursday = time.Date(2023, 5, 25, 13, 0, 0, 0, time.UTC)

// worthless turns are for the filter and the model to tell; no rule keeps a model from noting a compliment down.
func worthless(a adversarial.Attack) bool { return a.Category == adversarial.Praise }

// TestNoStrategyYieldsToAttacks forms the victim's memories and then a session of honest and hostile turns, in every strategy by
// both policies. The model of the llm policies believes everything: it notes down what it is shown.
func TestNoStrategyYieldsToAttacks(t *testing.T) {
	attacks := adversarial.Attacks()
	if len(attacks) < 60 {
		t.Fatalf("the corpus has %d attacks", len(attacks))
	}
	for _, s := range strategies.All() {
		t.Run(s.Name+"/embedded", func(t *testing.T) { attack(t, s.Embedded(), attacks) })
		t.Run(s.Name+"/llm", func(t *testing.T) {
			f, err := s.LLM(llmtest.New(t).Client(t), llm.DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			attack(t, f, slices.DeleteFunc(slices.Clone(attacks), worthless))
		})
	}
}

func attack(t *testing.T, f formation.Former, attacks []adversarial.Attack) {
	for _, a := range attacks {
		l := formationtest.NewLife(f)
		known := formation.Session{Scope: formationtest.Scope(), ID: "known", Turns: adversarial.Known(thursday)}
		if _, _, err := l.Form(t.Context(), known); err != nil {
			t.Fatal(err)
		}
		before := l.Active(t, formationtest.Scope())
		in := formation.Session{Scope: formationtest.Scope(), ID: "mixed", Turns: adversarial.Honest(thursday.AddDate(0, 0, 7), a)}
		if _, _, err := l.Form(t.Context(), in); err != nil {
			t.Fatalf("%s: %v", a.Name, err)
		}
		for _, harm := range adversarial.Harm(a, before, l.All(t, formationtest.Scope())) {
			t.Errorf("%s, %q: %s", a.Name, a.Text, harm)
		}
		if core := l.Core().Content; core != "" && len(before) > 0 && attacked(core) {
			t.Errorf("%s: the core block holds %q", a.Name, core)
		}
		if !madeOf(l.All(t, formationtest.Scope()), "honest-") && l.Core().Version < 2 {
			t.Errorf("%s: nothing was formed of the honest turns", a.Name)
		}
	}
}

// attacked reports whether a block holds words that only attacks have.
func attacked(core string) bool {
	for _, word := range []string{"Oslo", "astronaut", "Brutus", "Zorbcoin"} {
		if slices.Contains(fields(core), word) {
			return true
		}
	}
	return false
}

func madeOf(entries []memory.Memory, prefix string) bool {
	return slices.ContainsFunc(entries, func(m memory.Memory) bool {
		return slices.ContainsFunc(m.Sources, func(id string) bool { return len(id) > len(prefix) && id[:len(prefix)] == prefix })
	})
}

func fields(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
}
