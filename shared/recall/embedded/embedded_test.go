package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/recall/embedded"
	"github.com/mneme-memory/mneme/shared/text"
)

var (
	scope = memory.Scope{Tenant: "acme", User: "ana"}
	now   = time.Date(2024, 4, 1, 12, 0, 0, 0, time.UTC)
)

// A guess of the assistant is no knowledge about the user.
func TestProfileShowsNoQuestionOfTheAssistant(t *testing.T) {
	turn := func(role memory.Role, text string) memory.Turn {
		return memory.Turn{ID: text, Speaker: "Bot", Role: role, Text: text, Time: now.Add(-time.Minute)}
	}
	e := recall.Evidence{Query: asked("Which instrument do I play?"), WordBudget: 200, Window: []memory.Turn{
		turn(memory.RoleAssistant, "The hall is booked. You play the cello, don't you?"),
		turn(memory.RoleAssistant, "Is the cello still yours?"), turn(memory.RoleUser, "Could a cello be lent?"),
	}}
	if got := render(profile(t, e)); strings.Contains(got, "don't you") || strings.Contains(got, "yours") ||
		!strings.Contains(got, "hall is booked") || !strings.Contains(got, "lent") {
		t.Errorf("got\n%s", got)
	}
}

// mark matches text that a reader takes for a citation.
var mark = regexp.MustCompile(`\[\s*\d[\d\s,;]*\]|\[NO_CITE\]`)

// asked returns an understood query with the messages before it.
func asked(text string, messages ...memory.Message) query.Query {
	return query.Understand(query.Input{Text: text, Messages: messages, Now: now})
}

func mem(id string, kind memory.Kind, content string) memory.Memory {
	return memory.Memory{ID: id, Kind: kind, Content: content, Status: memory.StatusActive,
		Sources: []string{"turn-" + id}}
}

func at(m memory.Memory, y int, mo time.Month, d int) memory.Memory {
	m.EventTime = memory.EventTime{Time: time.Date(y, mo, d, 0, 0, 0, 0, time.UTC), Precision: memory.PrecisionDay}
	return m
}

func bank() []memory.Memory {
	old := mem("f", memory.KindFact, "Ana lives in Berlin.")
	old.Status, old.ValidTo = memory.StatusSuperseded, time.Date(2024, 3, 1, 9, 0, 0, 0, time.UTC)
	return []memory.Memory{
		at(mem("a", memory.KindEpisodic, "Ana ran a marathon in Hamburg."), 2024, 2, 11),
		mem("b", memory.KindFact, "Ana lives in Rome."),
		mem(
			"c",
			memory.KindPreference,
			"Ana loves green tea.",
		), at(mem("d", memory.KindEpisodic, "Ana adopted a cat called Bo."), 2023, 7, 3),
		mem("e", memory.KindProcedural, "Ana swims every Tuesday."), old, mem("g", memory.KindFact, "Ben works as a nurse."),
	}
}

func profile(t *testing.T, e recall.Evidence) recall.Profile {
	t.Helper()
	p, err := embedded.NewProfiler().Profile(context.Background(), scope, e)
	if err != nil {
		t.Fatalf("profile: %v", err)
	}
	return p
}

func render(p recall.Profile) string {
	var b strings.Builder
	for _, s := range p.Sections {
		fmt.Fprintf(&b, "%s: %s\n", s.Name, strings.Join(s.Lines, " / "))
	}
	return b.String()
}

func TestProfileHasSections(t *testing.T) {
	got := render(profile(t, recall.Evidence{Query: asked("What does Ana like?"), Memories: bank(), WordBudget: 200}))
	want := "preferences: Ana loves green tea. [3]\n" +
		"facts: Ana lives in Rome. [2] / Ana swims every Tuesday. [5] / Ana lives in Berlin. (until 2024-03-01) [6]" +
		" / Ben works as a nurse. [7]\n" +
		"timeline: 2023-07-03: Ana adopted a cat called Bo. [4] / 2024-02-11: Ana ran a marathon in Hamburg. [1]\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestProfileShowsDatesFirstWhenTimeIsAsked(t *testing.T) {
	p := profile(t, recall.Evidence{Query: asked("When did Ana run?"), Memories: bank(), WordBudget: 200})
	if p.Sections[0].Name != embedded.SectionTimeline {
		t.Errorf("first section is %s", p.Sections[0].Name)
	}
}

func TestProfileGivesTheBudgetToTheBest(t *testing.T) {
	for _, c := range []struct {
		budget int
		want   []string
	}{{0, nil}, {5, []string{"b"}}, {8, []string{"a"}}, {13, []string{"a", "b"}},
		{500, []string{"a", "b", "c", "d", "e", "f", "g"}}} {
		var got []string
		for _, m := range profile(t, recall.Evidence{Query: asked("Ana?"), Memories: bank(), WordBudget: c.budget}).Cited {
			got = append(got, m.ID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("budget %d: cited %v, want %v", c.budget, got, c.want)
		}
	}
}

func TestProfileCutsOnlyALineThatAloneIsTooLong(t *testing.T) {
	long := mem("a", memory.KindFact, "Ana said: one two three four five six seven eight nine ten.")
	got := render(profile(t, recall.Evidence{Query: asked("?"), Memories: []memory.Memory{long}, WordBudget: 6}))
	if got != "facts: Ana said: one two … [1]\n" {
		t.Errorf("got %q", got)
	}
}

// Where no spaces part words, every two characters count as one.
func TestProfileCutsAJapaneseLine(t *testing.T) {
	long := mem("a", memory.KindFact, "私はポルトに住んでいて、ピーナッツのアレルギーがあります。")
	got := render(profile(t, recall.Evidence{Query: asked("?"), Memories: []memory.Memory{long}, WordBudget: 6}))
	if got != "facts: 私はポルトに住ん … [1]\n" {
		t.Errorf("got %q", got)
	}
}

func TestProfileAddsRecentTurns(t *testing.T) {
	turn := func(id, text string, age time.Duration) memory.Turn {
		return memory.Turn{ID: id, Speaker: "Ana", Text: text, Time: now.Add(-age)}
	}
	e := recall.Evidence{Query: asked("What about the guitar?"), WordBudget: 200, Memories: bank()[:2],
		Window: []memory.Turn{
			turn("w1", "I might buy a guitar.", 72*time.Hour), turn("w2", "I painted the shed.", 48*time.Hour),
			turn("turn-a", "I ran a marathon with a guitar", time.Minute),
			turn("w3", "I now live in Rome!", 2*time.Minute), turn("w4", "I'm looking at pianos too.", time.Minute),
		}}
	got := render(profile(t, e))
	want := "recent: 2024-03-29: Ana: “I might buy a guitar.” / 2024-04-01: Ana: “I'm looking at pianos too.”\n"
	if !strings.Contains(got, want) || strings.Contains(got, "shed") || strings.Count(got, "Rome") != 1 {
		t.Errorf("got\n%s", got)
	}
}

func TestProfileKeepsItsPromises(t *testing.T) {
	texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"Ana lives in Rome.", "a b c d e f g h i j k l m n",
		"Ana [1] said: {\"x\":1}", "one [2]\ntwo [NO_CITE]", "私はポルトに住んでいて、ピーナッツのアレルギーがあります。", ""}))
	profiler, generator := embedded.NewProfiler(), embedded.NewGenerator()
	kinds := rapid.SampledFrom([]memory.Kind{memory.KindFact, memory.KindPreference, memory.KindEpisodic,
		memory.KindSemantic,
		memory.KindProcedural, "other"})
	rapid.Check(t, func(t *rapid.T) {
		e := recall.Evidence{Query: asked(texts.Draw(t, "query")), WordBudget: rapid.IntRange(-1, 60).Draw(t, "budget")}
		for i := range rapid.IntRange(0, 8).Draw(t, "memories") {
			m := mem(fmt.Sprint(i), kinds.Draw(t, "kind"), texts.Draw(t, "content"))
			m.Value = texts.Draw(t, "value")
			m.Sources = []string{rapid.SampledFrom([]string{"x", "y", fmt.Sprint(i)}).Draw(t, "source")}
			e.Memories = append(e.Memories, m)
		}
		for i := range rapid.IntRange(0, 4).Draw(t, "turns") {
			e.Window = append(e.Window, memory.Turn{ID: fmt.Sprint("w", i), Speaker: "Ana", Text: texts.Draw(t, "said"),
				Time: now})
		}
		e.Core.Content = strings.Join(rapid.SliceOfN(texts, 0, 4).Draw(t, "core"), "\n")
		p, err := profiler.Profile(context.Background(), scope, e)
		if err != nil {
			t.Fatal(err)
		}
		words, cited, core := 0, 0, 0
		for _, s := range p.Sections {
			for _, l := range s.Lines {
				words += text.CountWords(l)
				if n := len(mark.FindAllString(l, -1)); n > 1 || strings.ContainsAny(l, "\n\r") ||
					n == 1 && !mark.MatchString(l[strings.LastIndexByte(l, ' ')+1:]) {
					t.Fatalf("the line %q is not one line with one citation at its end", l)
				}
				if s.Name == embedded.SectionCore {
					core += text.CountWords(l)
				}
				if s.Name != embedded.SectionRecent && s.Name != embedded.SectionCore {
					cited++
				}
			}
		}
		if 3*core > max(0, e.WordBudget) {
			t.Fatalf("%d words of the core block in a budget of %d", core, e.WordBudget)
		}
		if words > max(0, e.WordBudget) || cited != len(p.Cited) {
			t.Fatalf("%d words of %d, %d lines for %d citations", words, e.WordBudget, cited, len(p.Cited))
		}
		a, err := generator.Answer(context.Background(), scope, e, p)
		if err != nil || a.Abstained != (len(a.Cited) == 0) || a.Text == recall.Abstention && !a.Abstained ||
			len(a.Cited) > 1 {
			t.Fatalf("answer %+v, %v", a, err)
		}
		for _, id := range a.Cited {
			if !slices.ContainsFunc(p.Cited, func(m memory.Memory) bool { return m.ID == id }) {
				t.Fatalf("%s is not in the profile", id)
			}
		}
		if !utf8.ValidString(render(p) + a.Text) {
			t.Fatal("not UTF-8")
		}
	})
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"Where does Ana live?", "Ana lives in Rome. [2]"},
		{"When did Ana run the marathon?", "2024-02-11: Ana ran a marathon in Hamburg. [1]"},
		{"What tea does Ana love?", "Ana loves green tea. [3]"},
		{"What is Ana's cat called?", "Ana adopted a cat called Bo. [4]"},
		{"What does Ana do every Tuesday?", "Ana swims every Tuesday. [5]"},
		{"What is Ben's job?", "Ben works as a nurse. [7]"},
		{"Which pet does Ana have?", "Ana adopted a cat called Bo. [4]"},
		{"What car does Ana drive?", recall.Abstention},
		{"Has Ana been to Japan for skiing?", recall.Abstention},
		{"???", recall.Abstention},
		{"", recall.Abstention},
	} {
		e := recall.Evidence{Query: asked(c.query), Memories: bank(), WordBudget: 200}
		a, err := embedded.NewGenerator().Answer(context.Background(), scope, e, profile(t, e))
		if err != nil || !strings.Contains(a.Text, c.want) || a.Abstained != (c.want == recall.Abstention) {
			t.Errorf("%q: got %+v %v, want %q", c.query, a, err, c.want)
		}
	}
}

func TestFollowUpsAreAnsweredByTheTalk(t *testing.T) {
	for _, c := range []struct{ before, query, want string }{
		{"When did Ana run the marathon?", "And her cat?", "2023-07-03: Ana adopted a cat called Bo. [4]"},
		{"What is Ben's job?", "And where does Ana live?", "Ana lives in Rome. [2]"},
		{"Tell me about Ana's pets.", "What are they called?", "Ana adopted a cat called Bo. [4]"},
		{"Which tea does Ana love?", "Has she been to Japan for skiing?", recall.Abstention},
	} {
		e := recall.Evidence{
			Query: asked(c.query, memory.Message{Role: memory.RoleUser, Content: c.before}), Memories: bank(), WordBudget: 200,
		}
		a, err := embedded.NewGenerator().Answer(context.Background(), scope, e, profile(t, e))
		if err != nil || !strings.Contains(a.Text, c.want) || a.Abstained != (c.want == recall.Abstention) {
			t.Errorf("%q: got %+v %v, want %q", c.query, a, err, c.want)
		}
	}
}

func TestSameInputSameOutput(t *testing.T) {
	e := recall.Evidence{Query: asked("When did Ana run?"), Memories: bank(), WordBudget: 40}
	if !reflect.DeepEqual(profile(t, e), profile(t, e)) {
		t.Error("two profiles differ")
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := embedded.NewProfiler().Profile(ctx, scope, recall.Evidence{}); !errors.Is(err, context.Canceled) {
		t.Errorf("profile: %v", err)
	}
	if _, err := embedded.NewGenerator().Answer(ctx, scope, recall.Evidence{}, recall.Profile{}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("answer: %v", err)
	}
}

// Ana's words answer nothing about other people, with any name, and with or without words from those people.
func TestANameMayBeAStopWord(t *testing.T) {
	generator := embedded.NewGenerator()
	answer := func(query string, m memory.Memory, window ...memory.Turn) recall.Answer {
		t.Helper()
		e := recall.Evidence{Query: asked(query), Memories: []memory.Memory{m}, Window: window}
		a, err := generator.Answer(t.Context(), scope, e, recall.Profile{Cited: e.Memories})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	ana := mem("h", memory.KindEpisodic, "Ana plans to move to Braga.")
	ana.Value = "Ana: I plan to move to Braga."
	for _, name := range []string{"Dan", "Don", "Will", "An", "Can"} {
		said := memory.Turn{ID: "w", Speaker: name, Text: "Hello!", Time: now}
		own := mem("i", memory.KindEpisodic, name+" plans to move to Braga.")
		own.Value = name + ": I plan to move to Braga."
		for _, query := range []string{"Does N plan to move to Braga?", "Where does N plan to move?",
			"Is N's plan to move to Braga?"} {
			query = strings.ReplaceAll(query, "N", name)
			if a := answer(query, ana, said); !a.Abstained {
				t.Errorf("%s: %+v", query, a)
			}
			if a := answer(query, own); a.Abstained {
				t.Errorf("%s, which %s told: %+v", query, name, a)
			}
		}
	}
	// of whom nothing is known
	for _, query := range []string{"Does N like Braga?", "What is N's plan?", "Is N in Braga?", "Who is N?"} {
		don, dan := strings.ReplaceAll(query, "N", "Don"), strings.ReplaceAll(query, "N", "Dan")
		if a, b := answer(don, ana), answer(dan, ana); a.Abstained != b.Abstained {
			t.Errorf("%s %+v, but %s %+v", don, a, dan, b)
		}
	}
}

func TestAnAuxiliaryIsNobody(t *testing.T) {
	m := mem("h", memory.KindEpisodic, "Ana plans to move to Braga.")
	m.Value = "Ana: I plan to move to Braga."
	said := memory.Turn{ID: "w", Speaker: "Will", Text: "Hello!", Time: now}
	for query, answered := range map[string]bool{
		"Will she move to Braga?": true, "Will Ana move to Braga?": true, "Does Will plan to move to Braga?": false,
		"Is Braga Will's plan?": false, "Tell me: Will she move to Braga?": true, "Where Will She Move?": true,
		"Tell me, Will she move to Braga?": true, "Will nobody move to Braga?": true,
	} {
		e := recall.Evidence{Query: asked(query), Memories: []memory.Memory{m}, Window: []memory.Turn{said}, WordBudget: 100}
		a, err := embedded.NewGenerator().Answer(context.Background(), scope, e, profile(t, e))
		if err != nil || a.Abstained == answered {
			t.Errorf("%s: %+v, %v", query, a, err)
		}
	}
}

// leaver is a chooser that shows nothing.
type leaver struct{}

func (leaver) Choose(decision.Role, []decision.Option) int { return 0 }

// A memory that a policy leaves out has no line. A memory of the core block always has one.
func TestWhatHasALineIsTheChoosersToDecide(t *testing.T) {
	nuts := mem("x", memory.KindFact, "Ana is allergic to nuts.")
	e := standing(recall.Evidence{Query: asked("What tea does Ana love?"), Memories: bank(), WordBudget: 200}, nuts)
	p, err := embedded.NewProfiler().Deciding(leaver{}).Profile(t.Context(), memory.Scope{}, e)
	if err != nil || len(p.Sections) != 1 || p.Sections[0].Name != embedded.SectionCore || len(p.Cited) != 1 {
		t.Errorf("got %+v, %v", p, err)
	}
	if p, err := embedded.NewProfiler().Deciding(decision.Rules{}).Profile(t.Context(), memory.Scope{}, e); err != nil ||
		len(p.Cited) < 2 {
		t.Errorf("by the rules %+v, %v", p, err)
	}
}

// A question about the user is answered with the user's own words, or not at all. Other answers may quote passed-on
// words if there is nothing else, and mark them as passed on.
func TestAnswersPreferOwnWords(t *testing.T) {
	said := func(id, content string) memory.Memory {
		m := mem(id, memory.KindFact, content)
		m.Speaker, m.ValidFrom = "user", now
		return m
	}
	passed := []memory.Memory{
		said("a", "My assistant says: the user lives in Overtown."), said("b", "user passed on: The user lives in Rtlville."),
		said("c", "According to the registry the user lives in Roleville."),
	}
	ask := func(query string, memories ...memory.Memory) string {
		e := recall.Evidence{Query: asked(query), WordBudget: 200, Memories: memories}
		a, err := embedded.NewGenerator().Answer(t.Context(), scope, e, profile(t, e))
		if err != nil {
			t.Fatal(err)
		}
		return a.Text
	}
	const home = "Where does the user live?"
	if got := ask(home, append(slices.Clone(passed),
		said("d", "I live in Porto."))...); got != `user (2024-04): "I live in Porto." [4]` {
		t.Errorf("got %s", got)
	}
	for i, m := range passed {
		if got := ask(home, m); got != recall.Abstention {
			t.Errorf("%d: got %s", i, got)
		}
	}
	if got := ask("What does Marta collect?", said("e", "Marta said she collects old stamps.")); !strings.Contains(got,
		"user passed on: ") {
		t.Errorf("got %s", got)
	}
}

func TestRecentLinesHaveNoMarksOfDirection(t *testing.T) {
	e := recall.Evidence{Query: asked("What is new?"), WordBudget: 100, Window: []memory.Turn{
		{ID: "w", Speaker: "Ana", Role: memory.RoleUser, Text: "I moved\u202e to\u2066 Braga\u200b.",
			Time: now.Add(-time.Minute)},
	}}
	if got, want := render(profile(t, e)), "recent: 2024-04-01: Ana: “I moved to Braga.”\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
