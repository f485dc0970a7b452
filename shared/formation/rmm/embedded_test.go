package rmm_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/formation/rmm"
	"github.com/mneme-memory/mneme/shared/memory"
)

// quoting is the embedded former with a judge that returns the test's relations.
func quoting(judged ...formationtest.Judged) *rmm.Embedded {
	return rmm.NewEmbeddedOver(formationtest.Quoting(rmm.Name, judged...))
}

func extract(t *testing.T, in formation.Session) []formation.Candidate {
	t.Helper()
	out, err := quoting().Extract(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTopicsAreOfOneSpeakerEach(t *testing.T) {
	got := extract(t, talk("s1", 0,
		line{"Ana", "I planted tomatoes in the garden. I watered the tomatoes in the garden at noon."},
		line{"Bea", "I planted roses in my garden."},
		line{"Ana", "I picked tomatoes in the garden and cooked a tomato soup."},
		line{"Ana", "My brother started at a bank in Geneva."},
	))
	var owners, contents []string
	for _, c := range got {
		owners, contents = append(owners, c.Keywords[0]), append(contents, c.Content)
	}
	if !slices.Equal(owners, []string{"ana", "bea", "ana"}) {
		t.Fatalf("owners are %v of %q", owners, contents)
	}
	if !slices.Equal(got[0].Sources, []string{"s1:a", "s1:c"}) || !strings.Contains(contents[0], "soup") ||
		strings.Contains(contents[0], "bank") {
		t.Errorf("the garden is %q from %v", contents[0], got[0].Sources)
	}
	if !strings.Contains(contents[2], "Geneva") {
		t.Errorf("the brother is %q", contents[2])
	}
}

// life forms sessions and fails the test if it cannot.
func life(t *testing.T, sessions ...formation.Session) *formationtest.Life {
	t.Helper()
	l := formationtest.NewLife(quoting(
		formationtest.Judged{Later: "Braga", Stored: "Porto", Does: relation.Replaces},
		formationtest.Judged{Later: "no longer", Stored: "tennis", Does: relation.Ends}))
	for _, s := range sessions {
		if _, _, err := l.Form(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func active(t *testing.T, l *formationtest.Life) (contents []string) {
	t.Helper()
	for _, m := range l.Active(t, scope) {
		contents = append(contents, m.Content)
	}
	return contents
}

func TestATopicThatComesUpAgainIsMerged(t *testing.T) {
	l := life(t,
		talk("s1", 0, line{"Ana", "My garden has tomatoes and basil."}),
		talk("s2", 7, line{"Ana", "The tomatoes and the basil in my garden are watered by a drip line."}),
	)
	last := l.Verdicts[1].Operations
	if len(last) != 1 || last[0].Kind != memory.OpMerge || len(last[0].Targets) != 1 {
		t.Fatalf("got %+v", last)
	}
	m := last[0].New
	for _, word := range []string{"tomatoes", "basil", "drip line"} {
		if !strings.Contains(m.Content, word) {
			t.Errorf("%q lacks %s", m.Content, word)
		}
	}
	if !slices.Equal(m.Sources, []string{"s2:a"}) || strings.Count(m.Value, "\n") != 1 ||
		!strings.HasPrefix(m.Value, "Ana (2024-05-06): My garden") {
		t.Errorf("sources %v, value %q", m.Sources, m.Value)
	}
	history, err := l.Bank.History(t.Context(), scope, m.ID)
	if err != nil || len(history) != 2 || !slices.Equal(history[0].Sources, []string{"s1:a"}) {
		t.Errorf("history %+v, %v", history, err)
	}
	if got := l.Active(t, scope); len(got) != 1 || !slices.Equal(got[0].Sources, []string{"s1:a", "s2:a"}) {
		t.Errorf("active are %+v, want one entry that names the turns of both sessions", got)
	}
}

// A stored version names the turns of all replaced versions, also of its predecessors' predecessors.
func TestAMergedEntryNamesTheTurnsOfAllItsVersions(t *testing.T) {
	l := life(t,
		talk("s1", 0, line{"Ana", "My garden has tomatoes and basil."}),
		talk("s2", 7, line{"Ana", "The tomatoes and the basil in my garden are watered by a drip line."}),
		talk("s3", 14, line{"Ana", "The drip line that waters the tomatoes and the basil in my garden is leaking."}),
	)
	got := l.Active(t, scope)
	if len(got) != 1 {
		t.Fatalf("active are %+v", got)
	}
	history, err := l.Bank.History(t.Context(), scope, got[0].ID)
	if err != nil || len(history) != 3 {
		t.Fatalf("history %+v, %v", history, err)
	}
	for i, want := range [][]string{{"s1:a"}, {"s1:a", "s2:a"}, {"s1:a", "s2:a", "s3:a"}} {
		if !slices.Equal(history[i].Sources, want) {
			t.Errorf("version %d names %q, want %q", i+1, history[i].Sources, want)
		}
	}
}

func TestWhatIsNotMerged(t *testing.T) {
	for name, second := range map[string]formation.Session{
		"another speaker's":            talk("s2", 7, line{"Bea", "I ran a marathon with my club in Madrid last year."}),
		"another event with its date":  talk("s2", 7, line{"Ana", "I ran a marathon with my club in Lisbon on 1 May 2024."}),
		"another matter of one's own":  talk("s2", 7, line{"Ana", "My sister Eva is a dentist."}),
		"the day of a talk is no date": talk("s2", 7, line{"Ana", "I ran a marathon with my club in Madrid."}),
	} {
		l := life(t, talk("s1", 0, line{"Ana", "I ran a marathon with my club in Madrid on 3 March 2024."}), second)
		if got := active(t, l); len(got) != 2 {
			t.Errorf("%s: active are %q", name, got)
		}
	}
}

func TestANewValueTakesThePlaceOfTheOld(t *testing.T) {
	l := life(t, talk("s1", 0, line{"Ana", "I live in Porto."}), talk("s2", 7, line{"Ana", "I moved to Braga."}))
	got := active(t, l)
	if len(got) != 1 || !strings.Contains(got[0], "Braga") {
		t.Errorf("active are %q", got)
	}
	if kind := l.Verdicts[1].Operations[0].Kind; kind != memory.OpMerge {
		t.Errorf("a new value is %s, want MERGE", kind)
	}
}

// A change leaves what else an entry tells, whichever sentence tells it, and however little the two share in words.
func TestAChangeLeavesTheRestOfATopic(t *testing.T) {
	for stored, want := range map[string]string{
		"I planted roses in my garden. I live in Porto.": `I moved to Braga." (2024-04-06): "I planted roses in my garden.`,
		"I live in Porto and work as a nurse.":           `I moved to Braga." (2024-04-06): "work as a nurse.`,
	} {
		l := life(t)
		old := formationtest.Stored("m-1", stored)
		old.Speaker, old.EventTime, old.Slot = "Ana", memory.EventTime{}, ""
		b := bundle([]string{"I moved to Braga."}, old)
		b.Related[0].Candidate.Speaker = "Ana"
		v, err := l.Former.Decide(t.Context(), b)
		if err != nil || len(v.Operations) != 1 || v.Operations[0].Kind != memory.OpMerge ||
			v.Operations[0].New.Content != want {
			t.Errorf("got %+v, %v, %q, want %q", v.Operations, err, v.Operations[0].New.Content, want)
		}
	}
}

// Words of different days stand in separate quotation marks with their day, also after a second merge.
func TestEachDaysWordsAreAQuotation(t *testing.T) {
	l := life(t,
		talk("s1", 0, line{"Ana", "I live in Porto and I'm vegan"}),
		talk("s2", 7, line{"Ana", "I moved to Braga. Ben stayed in Porto"}),
		talk("s3", 14, line{"Ana", "In Braga I live with Ben"}), talk("s4", 21, line{"Ana", "I'm vegan"}),
	)
	found := false
	for _, m := range l.Active(t, scope) {
		found = found || strings.Contains(m.Content, `" (2024-05-13): "I moved to Braga.`)
		for _, said := range regexp.MustCompile(`" \(\d{4}-\d{2}-\d{2}\): "`).Split(m.Content, -1) {
			if strings.Contains(said, "Porto and") && strings.Contains(said, "Ben") {
				t.Errorf("%q is one quotation", said)
			}
		}
	}
	if !found {
		t.Errorf("active are %q", active(t, l))
	}
}

func TestARepetitionChangesNothing(t *testing.T) {
	garden := line{
		"Ana", "My garden has tomatoes and basil. The tomatoes and the basil in my garden are watered by a drip line.",
	}
	l := life(t, talk("s1", 0, garden), talk("s2", 7, garden),
		talk("s3", 14, line{"Ana", "My garden has tomatoes and basil."}))
	for i, v := range l.Verdicts[1:] {
		for _, op := range v.Operations {
			if op.Kind != memory.OpNone || len(op.Targets) != 1 {
				t.Errorf("session %d: %s of %v", i+2, op.Kind, op.Targets)
			}
		}
	}
	if got := active(t, l); len(got) != 1 {
		t.Errorf("active are %q", got)
	}
}

func TestADenialTakesThePlaceOfWhatItDenies(t *testing.T) {
	l := life(t, talk("s1", 0, line{"Ana", "I play tennis at the club."}),
		talk("s2", 7, line{"Ana", "I no longer play tennis at the club."}))
	for _, op := range l.Verdicts[1].Operations {
		if op.Kind != memory.OpMerge {
			t.Errorf("a denial is %s, want MERGE", op.Kind)
		}
	}
	if got := active(t, l); len(got) != 1 || !strings.Contains(got[0], "no longer") {
		t.Errorf("active are %q", got)
	}
}

// Every statement is in a topic of its speaker, for every division; and no summary exceeds its limit.
func TestNothingIsLostInTopics(t *testing.T) {
	quotes := formationtest.Quoting(rmm.Name)
	former := quoting()
	checked := 0
	for _, sessions := range formationtest.People(t) {
		for _, in := range sessions {
			statements, err := quotes.Extract(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			topics, err := former.Extract(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range statements {
				checked++
				if !slices.ContainsFunc(topics, func(topic formation.Candidate) bool {
					return strings.Contains(topic.Content, c.Content) && slices.Contains(topic.Sources, c.Sources[0])
				}) {
					t.Errorf("%q is in no topic", c.Content)
				}
			}
			for _, topic := range topics {
				if n := len(strings.Fields(topic.Content)); n > 70 {
					t.Errorf("a summary of %d words", n)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d statements; the test shows nothing", checked)
	}
}

// A topic continues earlier statements of its speaker, from any strategy. They then stand before the topic's dialogue.
func TestNeighboursAreTheSpeakersWhateverMadeThem(t *testing.T) {
	const topic = "The tomatoes and the basil in my garden are watered by a drip line."
	for name, tc := range map[string]struct {
		entry memory.Memory
		want  memory.OpKind
	}{
		"a quotation": {memory.Memory{Speaker: "Ana", Strategy: "deltamem", Content: "My garden has tomatoes and basil."},
			memory.OpMerge},
		"told of her": {memory.Memory{Strategy: "salimory", Content: "Ana's garden has tomatoes and basil."}, memory.OpMerge},
		"another's": {memory.Memory{Speaker: "Bea", Strategy: "deltamem", Content: "My garden has tomatoes and basil."},
			memory.OpAdd},
		"told of another": {memory.Memory{Strategy: "salimory", Content: "Bea's garden has tomatoes and basil.",
			Keywords: []string{"ana"}},
			memory.OpAdd},
	} {
		old := stored("m-1", "", tc.entry.Content)
		old.Speaker, old.Strategy, old.Keywords, old.Value = tc.entry.Speaker, tc.entry.Strategy, tc.entry.Keywords, ""
		b := bundle([]string{topic}, old)
		b.Related[0].Candidate.Speaker = "Ana"
		v, err := quoting().Decide(t.Context(), b)
		if err != nil || len(v.Operations) != 1 || v.Operations[0].Kind != tc.want {
			t.Errorf("%s: got %+v, %v, want %s", name, v.Operations, err, tc.want)
			continue
		}
		want := "Ana (2024-05-06): " + topic
		if tc.entry.Speaker == "Ana" {
			want = "Ana (2024-04-06): My garden has tomatoes and basil.\n" + want
		}
		if got := v.Operations[0].New.Value; got != want {
			t.Errorf("%s: the dialogue is %q, want %q", name, got, want)
		}
	}
}

// A topic becomes a separate entry if its dialogue has no room after the entry that it continues: the dialogue of both
// is kept whole.
func TestTheDialogueOfATopicIsKeptWhole(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("raw words ", memory.MaxValueBytes/20))
	for said, want := range map[string]memory.OpKind{"": memory.OpMerge, long: memory.OpAdd} {
		old := stored("m-1", "ana", "My garden has tomatoes and basil.")
		old.Value = "Ana (2024-04-06): " + long
		b := bundle([]string{"The tomatoes and the basil in my garden are watered by a drip line."}, old)
		b.Session.Turns[0].Text += " " + said
		v, err := quoting().Decide(t.Context(), b)
		if err != nil || len(v.Operations) != 1 || v.Operations[0].Kind != want {
			t.Fatalf("got %+v, %v, want %s", v.Operations, err, want)
		}
		if got := v.Operations[0].New.Value; !strings.HasSuffix(got, strings.TrimSpace("a drip line. "+said)) ||
			want == memory.OpMerge && !strings.Contains(got, long) {
			t.Errorf("the dialogue is %q", got)
		}
	}
}

// For any talk in any order, the operations can be applied and no two active entries have the same content. No entry
// is merged across speakers.
func TestAnyTalkCanBeFormed(t *testing.T) {
	texts := []string{
		"I live in Porto.", "I moved to Braga.", "I no longer live in Braga.", "I love green tea.", "I gave up green tea.",
		"My garden has tomatoes and basil.",
		"The tomatoes and basil in my garden need water.", "I started as a nurse at Santa Clara Hospital.",
		"I quit my job as a nurse.", "I swim every Tuesday.",
		"I swim every Thursday now, not on Tuesday.", "My dog is called Rex.", "We went to Rome last week.",
		"We went to Rome on 3 May 2024.", "What is your dog called?", "Rex!",
	}
	former := rmm.NewEmbedded()
	rapid.Check(t, func(r *rapid.T) {
		l := formationtest.NewLife(former)
		for i := range rapid.IntRange(1, 3).Draw(r, "sessions") {
			var lines []line
			for range rapid.IntRange(1, 8).Draw(r, "turns") {
				lines = append(lines, line{rapid.SampledFrom([]string{"Ana", "Bea"}).Draw(r, "speaker"),
					rapid.SampledFrom(texts).Draw(r, "text")})
			}
			if _, _, err := l.Form(t.Context(), talk("s"+string(rune('1'+i)), 7*i, lines...)); err != nil {
				r.Fatal(err)
			}
		}
		owner := map[string]string{}
		for _, m := range l.All(t, scope) {
			owner[m.ID] = m.Keywords[0]
		}
		said := map[string]bool{}
		for _, m := range l.All(t, scope) {
			words := m.Speaker + ": " + m.Content
			if m.Status == memory.StatusActive && said[words] && m.Kind != memory.KindEpisodic {
				r.Errorf("%q is there twice", words)
			}
			said[words] = said[words] || m.Status == memory.StatusActive
			for _, p := range m.Predecessors {
				if owner[p] != owner[m.ID] {
					r.Errorf("%q takes the place of another speaker's", m.Content)
				}
			}
		}
	})
}
