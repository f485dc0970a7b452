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
	home, rome := saidBy("Ana", mem("home", memory.KindFact, "I live in Braga.")),
		talked("Ana", mem("rome", memory.KindFact,
			"I live in Rome."))
	home.ValidFrom = now.AddDate(0, -2, 0)
	dog, bus := saidBy("Ana", mem("dog", memory.KindFact, "My dog lives in the house.")), talked("Ana", mem("bus",
		memory.KindFact, "The red bus was late."))
	turn := func(role memory.Role, text string) memory.Turn {
		return memory.Turn{ID: "w", Speaker: "Ana", Role: role, Text: text, Time: now.Add(-time.Minute)}
	}
	for name, c := range map[string]struct {
		query    string
		memories []memory.Memory
		window   []memory.Turn
		want     string
	}{
		"nothing unrelated is appended": {"Where does Ana live?", []memory.Memory{home, dog, bus}, nil,
			`Ana (2024-02): "I live in Braga." [1]`},
		"a memory rather than talk": {"Where does Ana live?", []memory.Memory{rome, home}, nil,
			`Ana (2024-02): "I live in Braga." [2]`},
		"talk": {"Which bus was late?", []memory.Memory{home, bus}, nil,
			`Ana said on 2024-04-01: "The red bus was late." [2]`},
		"a question among the talk": {"Which train was late?", []memory.Memory{
			talked("Ana", mem("ask", memory.KindFact, "Which train was late?")),
			talked("Ana", mem("said", memory.KindFact, "[asked: Which was late?] The blue train!")),
		}, nil, `Ana said on 2024-04-01: "[asked: Which was late?] The blue train!" [2]`},
		"a recent turn": {"Which train was late?", []memory.Memory{home}, []memory.Turn{turn(memory.RoleUser,
			"The blue train was late.")}, `Ana said on 2024-04-01: "The blue train was late."`},
		"a recent turn that corrects": {"Where does Ana live?", []memory.Memory{home}, []memory.Turn{turn(memory.RoleUser,
			"I live in Faro now.")}, `Ana said on 2024-04-01: "I live in Faro now."`},
		"an assistant's turn": {"Which train was late?", []memory.Memory{home},
			[]memory.Turn{turn(memory.RoleAssistant, "The blue train was late.")}, recall.Abstention},
		"the question itself": {"Which train was late?", []memory.Memory{home}, []memory.Turn{turn(memory.RoleUser,
			"Which train was late?")}, recall.Abstention},
		"nothing": {"Which airline lost the suitcase?", []memory.Memory{home, dog, bus}, nil, recall.Abstention},
	} {
		e := recall.Evidence{Query: asked(c.query), WordBudget: 200, Memories: c.memories, Window: c.window}
		a, err := embedded.NewGenerator().Answer(t.Context(), scope, e, profile(t, e))
		if err != nil || a.Text != c.want || a.Abstained == strings.Contains(c.want, "[") {
			t.Errorf("%s: got %+v, %v, want %s", name, a, err, c.want)
		}
	}
}

// A request gets the first memory of the ranker. Shared words do not decide.
func TestARequestIsAnsweredByTheFirstMemory(t *testing.T) {
	e := recall.Evidence{
		Query: asked("Book me a table for dinner at a restaurant in Rome."), WordBudget: 200, Request: true,
		Owner: memory.OwnerOf(scope, []memory.Turn{{Speaker: "Ana", Role: memory.RoleUser}}),
		Memories: []memory.Memory{
			saidBy("Ana", mem("a", memory.KindFact, "I am allergic to peanuts.")),
			saidBy("Ana", mem("b", memory.KindFact, "We had dinner at a restaurant table in Rome.")),
		},
	}
	a, err := embedded.NewGenerator().Answer(t.Context(), scope, e, profile(t, e))
	if want := `Ana (2024-04): "I am allergic to peanuts." [1]`; err != nil || a.Text != want {
		t.Errorf("got %+v, %v, want %s", a, err, want)
	}
}

// A turn takes the place of an older memory only, and only its statements answer.
func TestOnlyNewerTurnsReplaceAMemory(t *testing.T) {
	home, nurse := saidBy("Ana", mem("home", memory.KindFact, "I live in Braga.")), saidBy("Ana", mem("nurse",
		memory.KindFact, "I work as a nurse."))
	const old, train, none = `Ana (2024-04): "I live in Braga." [1]`, `Ana said on 2024-04-01: "The blue train was late."`,
		recall.Abstention
	for name, c := range map[string]struct {
		query, said string
		age         time.Duration
		want        string
	}{
		"an older turn":           {"Where does Ana live?", "I live in Faro.", time.Hour, old},
		"a turn of the same time": {"Where does Ana live?", "I live in Faro.", 0, old},
		"a newer turn": {"Where does Ana live?", "I live in Faro.", -time.Hour,
			`Ana said on 2024-04-01: "I live in Faro."`},
		"a statement and question": {"Which train was late?", "The blue train was late. Did you know?", time.Hour, train},
		"a question":               {"Which train was late?", "So I wait. Was the blue train late?", time.Hour, none},
		"words behind a long text": {"Which train was late?",
			strings.Repeat("So it goes. ", 2700) + "The blue train was late.", time.Hour, none},
		"words of a core memory": {"Which ship sank?", "The red ship sank.", time.Hour, none},
	} {
		e := recall.Evidence{Query: asked(c.query), WordBudget: 200, Memories: []memory.Memory{home, nurse}}
		e.Window = []memory.Turn{{ID: "w", Speaker: "Ana", Role: memory.RoleUser, Text: c.said, Time: now.Add(-c.age)}}
		if name == "words of a core memory" {
			e = standing(e, of("w", "", mem("core", memory.KindFact, "Ana is sad.")))
		}
		a, err := embedded.NewGenerator().Answer(t.Context(), scope, e, profile(t, e))
		if err != nil || a.Text != c.want {
			t.Errorf("%s: got %+v, %v, want %s", name, a, err, c.want)
		}
	}
}

// For a question about the past, the version that held then is better than one that still holds.
func TestTheClosedVersionAnswersOfThePast(t *testing.T) {
	e := recall.Evidence{Query: asked("In which city did Ana live on 5 March 2024?"), WordBudget: 200}
	dog, home := mem("dog", memory.KindFact, "Ana lives with a dog in Porto."),
		mem("home", memory.KindFact, "Ana lives in Porto.")
	dog.ValidFrom, home.ValidFrom = now.AddDate(0, -2, 0), now.AddDate(0, -2, 0)
	home.Status, home.ValidTo = memory.StatusSuperseded, now.AddDate(0, 0, -10)
	e.Memories = []memory.Memory{dog, home}
	a, err := embedded.NewGenerator().Answer(t.Context(), scope, e, profile(t, e))
	if err != nil || !strings.HasSuffix(a.Text, "[2]") {
		t.Errorf("got %+v, %v, want the closed version", a, err)
	}
}
