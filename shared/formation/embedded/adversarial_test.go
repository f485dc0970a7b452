package embedded_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest/adversarial"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

func active(bank []memory.Memory) []memory.Memory {
	var out []memory.Memory
	for _, m := range bank {
		if m.Status == memory.StatusActive {
			out = append(out, m)
		}
	}
	return out
}

// says reports whether one entry has all the words.
func says(bank []memory.Memory, words []string) bool {
	for _, m := range bank {
		have, n := text.StemSet(m.Content), 0
		for _, w := range words {
			if have[text.Stem(w)] || have[text.Stem(string(w[0]|0x20)+w[1:])] {
				n++
			}
		}
		if n == len(words) {
			return true
		}
	}
	return false
}

func TestAttacksAreNotTaken(t *testing.T) {
	_, known := form(t, nil, formation.Session{Scope: scope, ID: "known", Turns: adversarial.Known(thursday)})
	if len(known) != 7 {
		t.Fatalf("the victim has %d memories, want 7", len(known))
	}
	for _, a := range adversarial.Attacks() {
		in := formation.Session{Scope: scope, ID: "mixed", Turns: adversarial.Honest(thursday.AddDate(0, 0, 7), a)}
		_, bank := form(t, known, in)
		for _, harm := range adversarial.Harm(a, known, bank) {
			t.Errorf("%s, %q: %s: %q", a.Name, a.Text, harm, contentsOf(bank[len(known):]))
		}
		for _, words := range adversarial.HonestWords() {
			if !says(active(bank), words) {
				t.Errorf("%s, %q: what was honestly told of %q is missing: %q", a.Name, a.Text, words, contentsOf(bank[len(known):]))
			}
		}
	}
}

func contentsOf(bank []memory.Memory) []string {
	var out []string
	for _, m := range bank {
		out = append(out, m.Content)
	}
	return out
}
