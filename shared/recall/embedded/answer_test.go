package embedded_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/recall/embedded"
)

// The answer is one line. A memory is better than talk, and a recent turn is better than an older memory.
func TestTheAnswerIsOneLine(t *testing.T) {
	home, rome := saidBy("Ana", mem("home", memory.KindFact, "I live in Braga.")), talked("Ana", mem("rome", memory.KindFact, "I live in Rome."))
	home.ValidFrom = now.AddDate(0, -2, 0)
	dog, bus := saidBy("Ana", mem("dog", memory.KindFact, "My dog lives in the house.")), talked("Ana", mem("bus", memory.KindFact, "The red bus was late."))
	turn := func(role memory.Role, text string) memory.Turn {
		return memory.Turn{ID: "w", Speaker: "Ana", Role: role, Text: text, Time: now.Add(-time.Minute)}
	}
	for name, c := range map[string]struct {
		query    string
		memories []memory.Memory
		window   []memory.Turn
		want     string
	}{
		"nothing unrelated is appended": {"Where does Ana live?", []memory.Memory{home, dog, bus}, nil, `Ana (2024-02): "I live in Braga." [1]`},
		"a memory rather than talk":     {"Where does Ana live?", []memory.Memory{rome, home}, nil, `Ana (2024-02): "I live in Braga." [2]`},
		"talk":                          {"Which bus was late?", []memory.Memory{home, bus}, nil, `Ana said on 2024-04-01: "The red bus was late." [2]`},
		"a recent turn":                 {"Which train was late?", []memory.Memory{home}, []memory.Turn{turn(memory.RoleUser, "The blue train was late.")}, `Ana said on 2024-04-01: "The blue train was late."`},
		"a recent turn that corrects":   {"Where does Ana live?", []memory.Memory{home}, []memory.Turn{turn(memory.RoleUser, "I live in Faro now.")}, `Ana said on 2024-04-01: "I live in Faro now."`},
		"an assistant's turn":           {"Which train was late?", []memory.Memory{home}, []memory.Turn{turn(memory.RoleAssistant, "The blue train was late.")}, recall.Abstention},
		"the question itself":           {"Which train was late?", []memory.Memory{home}, []memory.Turn{turn(memory.RoleUser, "Which train was late?")}, recall.Abstention},
		"nothing":                       {"Which airline lost the suitcase?", []memory.Memory{home, dog, bus}, nil, recall.Abstention},
	} {
		e := recall.Evidence{Query: asked(c.query), WordBudget: 200, Memories: c.memories, Window: c.window}
		a, err := embedded.NewGenerator().Answer(t.Context(), scope, e, profile(t, e))
		if err != nil || a.Text != c.want || a.Abstained == strings.Contains(c.want, "[") {
			t.Errorf("%s: got %+v, %v, want %s", name, a, err, c.want)
		}
	}
}
