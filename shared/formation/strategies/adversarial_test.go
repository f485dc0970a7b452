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

// TestNoStrategyYieldsToAttacks forms the victim's memories, and then a session of honest and hostile turns. It runs
// every strategy with both policies. One model of the llm policies writes all shown text down; another follows the
// instructions in it. The filter and the model must detect worthless text: no rule stops a model from storing a
// compliment.
func TestNoStrategyYieldsToAttacks(t *testing.T) {
	attacks := adversarial.Attacks()
	hostile := slices.DeleteFunc(slices.Clone(attacks), adversarial.Attack.Worthless)
	if len(hostile) < 150 {
		t.Fatalf("the corpus has %d attacks", len(hostile))
	}
	var honest []string
	for _, turn := range append(adversarial.Known(thursday), adversarial.Honest(thursday)...) {
		honest = append(honest, turn.Text)
	}
	for i, s := range strategies.All() {
		of := attacks
		if i > 0 { // the guard around the embedded policies is the same: a sample shows that the others are behind it
			of = nil
			for n := i; n < len(attacks); n += 4 {
				of = append(of, attacks[n])
			}
		}
		t.Run(s.Name+"/embedded", func(t *testing.T) { attack(t, s.Embedded(), of) })
		t.Run(s.Name+"/llm", func(t *testing.T) {
			attack(t, byModel(t, s, llmtest.FakeModel()), hostile)
		})
		t.Run(s.Name+"/obedient llm", func(t *testing.T) { attack(t, byModel(t, s, llmtest.Obedient(honest...)), hostile) })
	}
}

func byModel(t *testing.T, s strategies.Strategy, model llmtest.Step) formation.Former {
	t.Helper()
	server := llmtest.New(t)
	server.Always(model)
	f, err := s.LLM(server.Client(t), llm.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func attack(t *testing.T, f formation.Former, attacks []adversarial.Attack) {
	t.Parallel()
	victim := formationtest.NewLife(f)
	known := formation.Session{Scope: formationtest.Scope(), ID: "known", Turns: adversarial.Known(thursday)}
	if _, _, err := victim.Form(t.Context(), known); err != nil {
		t.Fatal(err)
	}
	before := victim.Active(t, formationtest.Scope())
	for _, a := range attacks {
		l := victim.Fork()
		in := formation.Session{Scope: formationtest.Scope(), ID: "mixed",
			Turns: adversarial.Honest(thursday.AddDate(0, 0, 7), a)}
		if _, _, err := l.Form(t.Context(), in); err != nil {
			t.Fatalf("%s: %v", a.Name, err)
		}
		for _, harm := range adversarial.Harm(a, before, l.All(t, formationtest.Scope())) {
			t.Errorf("%s, %q: %s", a.Name, a.Text, harm)
		}
		for line := range strings.Lines(l.Core().Content) {
			if attacked(line) && !a.Attributed(line) {
				t.Errorf("%s: the core block holds %q", a.Name, line)
			}
		}
		for _, words := range adversarial.HonestWords() {
			if !says(l.Active(t, formationtest.Scope()), words) {
				t.Errorf("%s, %q: what was honestly told of %q is missing", a.Name, a.Text, words)
			}
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

// says reports whether one entry has all the words.
func says(entries []memory.Memory, words []string) bool {
	return slices.ContainsFunc(entries, func(m memory.Memory) bool {
		has := fields(m.Content)
		return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(has, w) })
	})
}

func fields(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
}
