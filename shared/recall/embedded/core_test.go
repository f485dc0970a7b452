package embedded_test

import (
	"slices"
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
		e := recall.Evidence{Query: c.query, Now: now, Memories: bank(), Core: memory.Core{Content: block}, WordBudget: c.budget}
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
	e := recall.Evidence{Query: "What tea does Ana love?", Now: now, Memories: bank(), Core: memory.Core{Content: "Ana loves green tea."},
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
	p := profile(t, recall.Evidence{Query: "When was Ana in Rome?", Now: now, Memories: []memory.Memory{day, span}, WordBudget: 200})
	want := []string{"2024-02-11: Ana ran a race. [1]", "2024-02-11 to 2024-02-14: Ana was in Rome. [2]"}
	if len(p.Sections) != 1 || !slices.Equal(p.Sections[0].Lines, want) {
		t.Errorf("got %+v, want %q", p.Sections, want)
	}
}
