package embedded_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/recall/embedded"
)

// block is a core block; its lines have five, four, four and five words.
const block = "ana/job: Ana teaches young children.\nAna hates loud music.\n\nAna loves green tea.\nEva  is the sister of Ana."

func TestProfileBeginsWithTheCoreBlock(t *testing.T) {
	for name, c := range map[string]struct {
		query  string
		budget int
		want   []string
	}{
		"what the query asks for first": {"Who is Ana's sister?", 60,
			[]string{"Eva is the sister of Ana.", "ana/job: Ana teaches young children.", "Ana hates loud music."}},
		"by the name of a slot": {"What is the job of Ana?", 24, []string{"ana/job: Ana teaches young children."}},
		"a third of the budget": {"Hello?", 30, []string{"ana/job: Ana teaches young children.", "Ana hates loud music."}},
		"what fits in":          {"Hello?", 12, []string{"Ana hates loud music."}},
		"nothing":               {"Hello?", 6, nil},
	} {
		e := recall.Evidence{Query: asked(c.query), Memories: bank(), Core: memory.Core{Content: block}, WordBudget: c.budget}
		p := profile(t, e)
		var got []string
		if len(p.Sections) > 0 && p.Sections[0].Name == embedded.SectionCore {
			got = p.Sections[0].Lines
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// "Ana loves green tea." is a memory of the evidence, too, and is shown where it can be cited.
func TestACoreLineIsLeftToTheMemoryThatSaysIt(t *testing.T) {
	e := recall.Evidence{Query: asked("What tea does Ana love?"), Memories: bank(),
		Core:       memory.Core{Content: "Ana loves green tea."},
		WordBudget: 200}
	if p := profile(t, e); p.Sections[0].Name == embedded.SectionCore {
		t.Errorf("the block shows %q", p.Sections[0].Lines)
	}
	e.Memories = nil
	if p := profile(t, e); len(p.Sections) != 1 || !slices.Equal(p.Sections[0].Lines, []string{"Ana loves green tea."}) {
		t.Errorf("got %+v", p.Sections)
	}
}

func TestDatesAreShownOnce(t *testing.T) {
	day := at(mem("a", memory.KindEpisodic, "2024-02-11: Ana ran a race."), 2024, 2, 11)
	span := at(mem("b", memory.KindEpisodic, "Ana was in Rome."), 2024, 2, 11)
	span.EventTime.End = time.Date(2024, 2, 14, 0, 0, 0, 0, time.UTC)
	p := profile(t, recall.Evidence{Query: asked("When was Ana in Rome?"), Memories: []memory.Memory{day, span},
		WordBudget: 200})
	want := []string{"2024-02-11: Ana ran a race. [1]", "2024-02-11 to 2024-02-14: Ana was in Rome. [2]"}
	if len(p.Sections) != 1 || !slices.Equal(p.Sections[0].Lines, want) {
		t.Errorf("got %+v, want %q", p.Sections, want)
	}
}

// standing is a core block of lines that rest on memories.
func standing(e recall.Evidence, memories ...memory.Memory) recall.Evidence {
	e.Core.Version, e.CoreMemories = 1, memories
	for _, m := range memories {
		e.Core.Lines = append(e.Core.Lines, memory.CoreLine{Text: m.Content, Memories: []string{m.ID}})
	}
	return e
}

func TestWhatStandsIsShownOnceWithItsCitation(t *testing.T) {
	nuts, gone := mem("x", memory.KindFact, "Ana is allergic to nuts."), mem("y", memory.KindFact, "Ana is vegan.")
	gone.Status = memory.StatusRetracted
	e := recall.Evidence{Query: asked("What tea does Ana love?"), Memories: bank(), WordBudget: 200}
	p := profile(t, standing(e, nuts, gone, bank()[2]))
	if s := p.Sections[0]; s.Name != embedded.SectionCore ||
		!slices.Equal(s.Lines, []string{"Ana loves green tea. [3]",
			"Ana is allergic to nuts. [" + strconv.Itoa(len(p.Cited)) + "]"}) {
		t.Errorf("got %+v", p.Sections)
	}
	if all := render(p); strings.Count(all, "green tea") != 1 || strings.Contains(all, "vegan") {
		t.Errorf("got %s", all)
	}
	if len(p.Cited) != len(bank())+1 || p.Cited[2].ID != "c" || p.Cited[len(p.Cited)-1].ID != "x" {
		t.Errorf("it cites %s", citedIDs(p))
	}
}

func TestWhatStandsKeepsTheBudget(t *testing.T) {
	nuts, stairs := mem("x", memory.KindFact, "Ana is allergic to nuts."),
		mem("y", memory.KindFact, "Ana cannot climb any stairs at all.")
	for budget, want := range map[int]string{60: "x y", 20: "x", 10: ""} {
		p := profile(t, standing(recall.Evidence{Query: asked("Hello?"), WordBudget: budget}, nuts, stairs))
		if got := citedIDs(p); got != want {
			t.Errorf("%d words cite %q, want %q", budget, got, want)
		}
	}
}

// A memory next to a better one of its turn has its line in the core block, too.
func TestASiblingThatStandsIsShownOnce(t *testing.T) {
	nuts := of("t1", "", mem("nuts", memory.KindFact, "Ana is allergic to nuts."))
	e := recall.Evidence{Query: asked("Where does Ana live?"), WordBudget: 200, Memories: []memory.Memory{
		of("t1", "", mem("home", memory.KindFact, "Ana lives in Rome.")), nuts, of("t2", "", mem("dog", memory.KindFact,
			"Ana's dog is called Bo.")),
	}}
	want := "core: Ana is allergic to nuts. [3]\nfacts: Ana lives in Rome. [1] / Ana's dog is called Bo. [2]\n"
	if p := profile(t, standing(e, nuts)); render(p) != want || citedIDs(p) != "home dog nuts" {
		t.Errorf("got\n%s%s, want\n%s", render(p), citedIDs(p), want)
	}
}

// Two memories are linked, and the newer one is standing. The older one stays in its section after the core.
func TestTheOlderOfTwoStaysBehindTheNewerThatStands(t *testing.T) {
	older, newer := mem("o", memory.KindFact, "Ana can eat nuts again."),
		mem("n", memory.KindFact, "Ana is allergic to nuts.")
	newer.Links = []string{"o"}
	p := profile(t, standing(recall.Evidence{Query: asked("Hello?"), WordBudget: 200, Memories: []memory.Memory{older}},
		newer))
	if len(p.Sections) != 2 || p.Sections[0].Name != embedded.SectionCore || len(p.Sections[0].Lines) != 1 ||
		!strings.Contains(p.Sections[0].Lines[0], "allergic") {
		t.Errorf("got %+v, want the newer alone in the core", p.Sections)
	}
}
