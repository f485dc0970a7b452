package embedded_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/recall"
)

// saidBy makes a memory in the words of a speaker.
func saidBy(speaker string, m memory.Memory) memory.Memory {
	m.Speaker, m.ValidFrom = speaker, now
	return m
}

// talked makes a part of a turn that is no memory.
func talked(speaker string, m memory.Memory) memory.Memory {
	m = saidBy(speaker, m)
	m.Tier = memory.TierTalk
	return m
}

func TestAHeadingHasOnlyWhatItNames(t *testing.T) {
	ended := saidBy("Ana", mem("h", memory.KindPreference, "I love figs."))
	ended.Status, ended.ValidTo = memory.StatusSuperseded, now
	e := recall.Evidence{
		Query: asked("What should Bo know of Ana?"), WordBudget: 300,
		Owner: memory.OwnerOf(scope, []memory.Turn{{Speaker: "Ana", Role: memory.RoleUser}}),
		Memories: []memory.Memory{
			saidBy("Ana", mem("a", memory.KindFact, "My dog is called Bo.")), saidBy("Ana", mem("b", memory.KindFact, "I am allergic to peanuts.")),
			saidBy("Ana", mem("c", memory.KindPreference, "I love green tea.")),
			saidBy("Ana", at(mem("d", memory.KindEpisodic, "I moved 12 boxes."), 2024, 2, 11)),
			talked("Ana", mem("e", memory.KindFact, "I am allergic to Mondays.")), saidBy("Eve", mem("f", memory.KindFact, "I am allergic to nuts.")),
			saidBy("Ana", mem("g", memory.KindFact, "My neighbour says: the user is allergic to figs.")), ended,
			talked("Ana", mem("i", memory.KindPreference, "I love rain.")),
		},
		Window: []memory.Turn{{ID: "w", Speaker: "Ana", Text: "I am packing.", Time: now.Add(-time.Minute)}},
		Core:   memory.Core{Content: "Ana is a nurse."},
	}
	const want = "core: Ana is a nurse.\n" +
		"constraints: Ana (2024-04): \"I am allergic to peanuts.\" [2]\n" +
		"preferences: Ana (2024-04): \"I love green tea.\" [3]\n" +
		"facts: Ana (2024-04): \"My dog is called Bo.\" [1] / Eve (2024-04): \"I am allergic to nuts.\" [6] / " +
		"Ana (2024-04): \"My neighbour says: the user is allergic to figs.\" [7] / Ana (2024-04): \"I love figs.\" (until 2024-04-01) [8]\n" +
		"recent: 2024-04-01: Ana: “I am packing.”\n" +
		"timeline: Ana (2024-02-11): \"I moved 12 boxes.\" [4]\n" +
		"talk: Ana said on 2024-04-01: \"I am allergic to Mondays.\" [5] / Ana said on 2024-04-01: \"I love rain.\" [9]\n"
	if got := render(profile(t, e)); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

// A short profile has the newer of two linked memories, and never the older one alone.
func TestTheOlderOfTwoIsNeverAlone(t *testing.T) {
	newer := saidBy("Ana", mem("new", memory.KindFact, "I live in the old harbour district of Braga, on the third floor."))
	older := saidBy("Ana", mem("old", memory.KindFact, "I live in Rome."))
	newer.Links = []string{"old"}
	e := recall.Evidence{Query: asked("Where does Ana live?"), WordBudget: 200, Memories: []memory.Memory{newer, older}}
	const want = "facts: Ana (2024-04): \"I live in the old harbour district of Braga, on the third floor.\" [1]"
	for budget, want := range map[int]string{200: want + " / earlier: Ana (2024-04): \"I live in Rome.\" [2]\n", 20: want + "\n"} {
		if e.WordBudget = budget; render(profile(t, e)) != want {
			t.Errorf("%d words: got %s, want %s", budget, render(profile(t, e)), want)
		}
	}
	e.WordBudget = 10
	if got := render(profile(t, e)); strings.Contains(got, "Rome") {
		t.Errorf("got %s", got)
	}
}

// The explored memory has a line in a short profile, too, at its rank.
func TestWhatIsExploredHasALine(t *testing.T) {
	e := recall.Evidence{Query: asked("What does Ana do?"), WordBudget: 40, Explored: "z"}
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "z"} {
		e.Memories = append(e.Memories, mem(id, memory.KindFact, "Ana went to the shop "+id+"."))
	}
	if p := profile(t, e); citedIDs(p) != "a b c d z" {
		t.Errorf("cites %s", citedIDs(p))
	}
}

// A memory of a turn stands before the talk of that turn. Talk has no further quotation behind its words.
func TestTalkStandsBehindTheMemoryOfItsTurn(t *testing.T) {
	value := "Ana: The bus to Faro was late. I live in Rome."
	e := recall.Evidence{Query: asked("Where does Ana live?"), WordBudget: 200, Memories: []memory.Memory{
		of("t1", value, talked("Ana", mem("bus", memory.KindFact, "The bus was late."))),
		of("t1", "", saidBy("Ana", mem("home", memory.KindFact, "I live in Rome."))),
		of("t2", value, talked("Ana", mem("late", memory.KindFact, "The bus was late."))),
	}}
	const want = "facts: Ana (2024-04): \"I live in Rome.\" [1]\n" +
		"talk: Ana said on 2024-04-01: \"The bus was late.\" [3] / Ana said on 2024-04-01: \"The bus was late.\" [2]\n"
	if got := render(profile(t, e)); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}
