package embedded_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/recall/embedded"
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
			saidBy("Ana", mem("a", memory.KindFact, "My dog is called Bo.")),
			saidBy("Ana", mem("b", memory.KindFact, "I am allergic to peanuts.")),
			saidBy("Ana", mem("c", memory.KindPreference, "I love green tea.")),
			saidBy("Ana", at(mem("d", memory.KindEpisodic, "I moved 12 boxes."), 2024, 2, 11)),
			talked("Ana", mem("e", memory.KindFact, "I am allergic to Mondays.")), saidBy("Eve", mem("f", memory.KindFact,
				"I am allergic to nuts.")),
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

func TestNewsOfAnUnnamedOtherIsNoConstraint(t *testing.T) {
	owner := memory.OwnerOf(scope, []memory.Turn{{Speaker: "Ana", Role: memory.RoleUser}})
	for said, want := range map[string]string{
		"I am allergic to nuts.":                              embedded.SectionConstraints,
		"I am her doctor: she is no longer allergic to nuts.": embedded.SectionFacts,
	} {
		if got := embedded.SectionOf(saidBy("Ana", mem("a", memory.KindFact, said)), owner); got != want {
			t.Errorf("%q is under %s, want %s", said, got, want)
		}
	}
}

// A short profile has the newer of two linked memories, and never the older one alone.
func TestTheOlderOfTwoIsNeverAlone(t *testing.T) {
	newer := saidBy("Ana", mem("new", memory.KindFact, "I live in the old harbour district of Braga, on the third floor."))
	older := saidBy("Ana", mem("old", memory.KindFact, "I live in Rome."))
	newer.Links = []string{"old"}
	e := recall.Evidence{Query: asked("Where does Ana live?"), WordBudget: 200, Memories: []memory.Memory{newer, older}}
	const want = "facts: Ana (2024-04): \"I live in the old harbour district of Braga, on the third floor.\" [1]"
	for budget, want := range map[int]string{200: want + " / earlier: Ana (2024-04): \"I live in Rome.\" [2]\n",
		20: want + "\n"} {
		if e.WordBudget = budget; render(profile(t, e)) != want {
			t.Errorf("%d words: got %s, want %s", budget, render(profile(t, e)), want)
		}
	}
	e.WordBudget = 10
	if got := render(profile(t, e)); strings.Contains(got, "Rome") {
		t.Errorf("got %s", got)
	}
}

// The newer memory has its line before the older one gets words, wherever its place is.
func TestANewerMemoryWithALaterPlaceHasItsLineFirst(t *testing.T) {
	older := saidBy("Ana", mem("old", memory.KindFact, "I live in Rome."))
	e := recall.Evidence{Query: asked("Where does Ana live?"), Memories: []memory.Memory{older}}
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		e.Memories = append(e.Memories, saidBy("Ana", mem(id, memory.KindFact, "I went to the shop with number "+id+".")))
	}
	newer := saidBy("Ana", mem("new", memory.KindFact, "I live in Braga."))
	newer.Links, newer.ValidFrom = []string{"old"}, now.AddDate(0, 0, 1)
	e.Memories = append(e.Memories, newer)
	for budget, want := range map[int]string{
		40: `facts: Ana (2024-04): "I live in Braga." [4] / earlier: Ana (2024-04): "I live in Rome." [1] / `,
		12: "facts: Ana (2024-04): \"I live in Braga.\" [1]\n",
		6:  `facts: Ana (2024-04): "I went …" [1]`,
	} {
		e.WordBudget = budget
		p := profile(t, e)
		if got := render(p); !strings.HasPrefix(got, want) {
			t.Errorf("%d words: got %s, want %s", budget, got, want)
		}
		a, err := embedded.NewGenerator().Answer(t.Context(), scope, e, p)
		if err != nil || budget > 6 && !strings.Contains(a.Text, "Braga") {
			t.Errorf("%d words: answers %+v, %v", budget, a, err)
		}
	}
	e.WordBudget, e.Memories[0].Links = 40, []string{"new"} // a ring ends
	if got := render(profile(t, e)); !strings.Contains(got, "Rome") || !strings.Contains(got, "Braga") {
		t.Errorf("got %s", got)
	}
}

// A line of the core block is shown although a newer memory has a later place. That memory is next to have a line.
func TestACoreLineDoesNotWaitForANewerMemory(t *testing.T) {
	core := mem("core", memory.KindFact, "I am allergic to shellfish.")
	newer := mem("new", memory.KindFact, "I can eat shellfish again.")
	newer.Links = []string{"core"}
	e := recall.Evidence{Query: asked("What can Ana eat?"), WordBudget: 60, Memories: []memory.Memory{
		mem("a", memory.KindFact, "Ana likes one two three four five six seven eight nine ten eleven."),
		mem("b", memory.KindFact, "Ana eats one two three four five six seven eight nine ten eleven."),
		mem("c", memory.KindFact, "Ana cooks one two three four five six seven eight nine ten eleven."), newer, core,
	}}
	got := render(profile(t, standing(e, core)))
	if !strings.HasPrefix(got, "core: earlier: I am allergic to shellfish. [") ||
		!strings.Contains(got, "I can eat shellfish again.") {
		t.Errorf("got %s", got)
	}
}

// A linked memory has the heading that it fits.
func TestALinkedMemoryKeepsItsHeading(t *testing.T) {
	allergy, love := mem("allergy", memory.KindFact, "I am allergic to peanuts."),
		mem("love", memory.KindPreference, "I love peanuts.")
	e := recall.Evidence{Query: asked("What about peanuts?"), WordBudget: 200}
	allergy.Links = []string{"love"}
	e.Memories = []memory.Memory{allergy, love}
	const later = "constraints: I am allergic to peanuts. [1]\npreferences: earlier: I love peanuts. [2]\n"
	if got := render(profile(t, e)); got != later {
		t.Errorf("got\n%s, want\n%s", got, later)
	}
	allergy.Links, love.Links = nil, []string{"allergy"}
	e.Memories = []memory.Memory{love, allergy}
	const before = "constraints: earlier: I am allergic to peanuts. [2]\npreferences: I love peanuts. [1]\n"
	if got := render(profile(t, e)); got != before {
		t.Errorf("got\n%s, want\n%s", got, before)
	}
}

// The words of the explored memory go to it, and not to a better memory of its turn.
func TestAnExploredMemoryBesideABetterOneHasALine(t *testing.T) {
	e := recall.Evidence{Query: asked("What does Ana do?"), WordBudget: 41, Explored: "z"}
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "y", "z"} {
		e.Memories = append(e.Memories, mem(id, memory.KindFact, "Ana went to the shop "+id+"."))
	}
	e.Memories[6].Sources = e.Memories[7].Sources
	if p := profile(t, e); citedIDs(p) != "a b c d z" {
		t.Errorf("cites %s", citedIDs(p))
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
