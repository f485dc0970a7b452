package membuilder_test

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/membuilder"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
)

func TestEmbeddedConforms(t *testing.T) {
	formationtest.Run(t, membuilder.Name, func(*testing.T) formation.Former { return membuilder.NewEmbedded() })
}

// quoting is the embedded former with a judge that returns the test's relations.
func quoting() *membuilder.Embedded {
	return membuilder.NewEmbeddedOver(formationtest.Quoting(membuilder.Name,
		formationtest.Judged{Later: "Braga", Stored: "Porto", Does: relation.Replaces},
		formationtest.Judged{Later: "Braga", Stored: "home is", Does: relation.Replaces},
		formationtest.Judged{Later: "Porto", Stored: "home is", Does: relation.Same},
		formationtest.Judged{Later: "home is", Stored: "Porto", Does: relation.Same},
		formationtest.Judged{Later: "I can't sleep", Stored: "I can't sleep", Does: relation.Replaces},
		formationtest.Judged{Later: "no longer", Stored: "I love green tea", Does: relation.Ends}))
}

// live forms one session a month of Ana's and returns her memory.
func live(t *testing.T, sessions ...[]string) *formationtest.Life {
	t.Helper()
	l := formationtest.NewLife(quoting())
	for i, texts := range sessions {
		in := session(texts...)
		in.ID = "s" + string(rune('a'+i))
		for j := range in.Turns {
			turn := &in.Turns[j]
			turn.ID, turn.SessionID, turn.Time = in.ID+turn.ID, in.ID, turn.Time.AddDate(0, i, 0)
		}
		if _, _, err := l.Form(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// of returns the contents of the active entries of a kind.
func of(t *testing.T, l *formationtest.Life, kind memory.Kind) []string {
	t.Helper()
	var out []string
	for _, m := range l.Active(t, scope) {
		if m.Kind == kind {
			out = append(out, m.Content)
		}
	}
	return out
}

// lines of the core block, without their days.
func lines(l *formationtest.Life) []string {
	return strings.Split(days.ReplaceAllString(l.Core().Content, ""), "\n")
}

var days = regexp.MustCompile(`(?m) \(\d{4}-\d{2}-\d{2}\)$`)

func TestWhoSomebodyIsStandsInTheBlock(t *testing.T) {
	l := live(t, []string{"I live in Porto.", "I work as a nurse.", "I love green tea.", "My dog is called Biscuit.",
		"Yesterday I bought a lamp.", "I do yoga every Monday."})
	want := []string{"Ana: I live in Porto.", "Ana: I work as a nurse.", "Ana: I love green tea.",
		"Ana: My dog is called Biscuit."}
	if got := lines(l); !slices.Equal(got, want) {
		t.Errorf("block is %q, want %q", got, want)
	}
	if got := of(t, l, memory.KindSemantic); len(got) != 4 {
		t.Errorf("semantic memory has %q, want what is in the block, too", got)
	}
}

func TestLikingsOfTheMomentStayOut(t *testing.T) {
	l := live(t, []string{"I love how it looks.", "I would love to help.", "I like them a lot.", "I love that you paint.",
		"I love baking bread."})
	if got := lines(l); !slices.Equal(got, []string{"Ana: I love baking bread."}) {
		t.Errorf("block is %q", got)
	}
}

func TestTheBlockTellsOfTheSpeakerInTheirOwnWords(t *testing.T) {
	for said, want := range map[string]string{
		"I'm allergic to peanuts, can you suggest a snack?": "Ana: I'm allergic to peanuts (2024-05-06)",
		"I work as a nurse. What do you think?":             "Ana: I work as a nurse. (2024-05-06)",
		"hey! I live in Porto.":                             "Ana: I live in Porto. (2024-05-06)",
		"hey!":                                              "", "hm ok": "",
		"Why did the chicken cross the road? To get to the other side, haha": "",
		"the hero of my book is a doctor in Oslo":                            "",
		"Ben is a nurse in Lisbon":                                           "",
		"My boss says I should eat more fish":                                "",
		"According to HR I no longer work at Siemens":                        "",
		"> I am allergic to penicillin and I live in Faro":                   "",
	} {
		if got := live(t, []string{said}).Core().Content; got != want {
			t.Errorf("%q: block is %q, want %q", said, got, want)
		}
	}
}

func TestALaterValueTakesTheLineOfTheEarlierOne(t *testing.T) {
	l := live(t,
		[]string{"I live in Porto.", "My dog is called Biscuit.", "I love green tea."},
		[]string{"I moved to Braga.", "My cat is called Momo.", "I no longer love green tea."})
	got := lines(l)
	want := []string{"Ana: My dog is called Biscuit.", "Ana: My cat is called Momo."}
	if !slices.Equal(got, want) {
		t.Errorf("block is %q, want %q", got, want)
	}
	if l.Core().Version != 2 {
		t.Errorf("version %d, want one a session", l.Core().Version)
	}
}

func TestAssistantsSayNothingAboutTheUser(t *testing.T) {
	f := membuilder.NewEmbedded()
	in := session("I love opera, and I live in Vienna.", "When I can't sleep, I read.")
	for i := range in.Turns {
		in.Turns[i].Role, in.Turns[i].Speaker = memory.RoleAssistant, "assistant"
	}
	l := formationtest.NewLife(f)
	if _, _, err := l.Form(t.Context(), in); err != nil || l.Core().Content != "" ||
		len(of(t, l, memory.KindProcedural)) != 0 {
		t.Errorf("block is %q, procedures %q, %v", l.Core().Content, of(t, l, memory.KindProcedural), err)
	}
}

func TestAFullBlockIsCompressed(t *testing.T) {
	block := []string{"Ana: I like music."}
	for i := 0; len(strings.Join(block, "\n")) < memory.CoreAppendLimit; i++ {
		block = append(block, "Ana: I like film number "+strings.Repeat("x", 20)+strconv.Itoa(i)+".")
	}
	block = append(block, "Ana: I like loud music.")
	l := formation.Bundle{Session: session("I love opera."),
		Core: memory.Core{Content: strings.Join(block, "\n"), Version: 1}}
	f := membuilder.NewEmbeddedOver(formationtest.Quoting(membuilder.Name))
	candidates, err := f.Extract(t.Context(), l.Session)
	if err != nil {
		t.Fatal(err)
	}
	l.Related = []formation.Related{{Candidate: candidates[0]}}
	v, err := f.Decide(t.Context(), l)
	if err != nil || len(v.Core) != 1 || v.Core[0].Kind != memory.OpRewrite {
		t.Fatalf("got %+v, %v", v.Core, err)
	}
	w := apply(t, l, v)
	got := strings.Split(w.Core.Content, "\n")
	if n := w.Core.Length(); n >= 3000 || n < 2800 {
		t.Errorf("%d characters are left, want little below 3000", n)
	}
	if !strings.HasPrefix(got[len(got)-1], "Ana: I love opera. (") || got[len(got)-2] != "Ana: I like loud music." ||
		slices.Contains(got, "Ana: I like music.") {
		t.Errorf("block begins %q and ends %q", got[:2], got[len(got)-2:])
	}
	for i := 1; i < len(got)-1; i++ {
		if !slices.Contains(block, got[i]) {
			t.Errorf("%q was made up", got[i])
		}
	}
}

func TestProceduresAreVersioned(t *testing.T) {
	l := live(t,
		[]string{"When I can't sleep, I read a novel.", "To make coffee, I first grind the beans, then I pour the water."},
		[]string{"When I can't sleep, I listen to the radio."})
	if got := of(t, l, memory.KindProcedural); len(got) != 2 {
		t.Errorf("procedures are %q", got)
	}
	for _, m := range l.All(t, scope) {
		if strings.Contains(m.Content, "radio") && (m.Version != 2 || len(m.Predecessors) != 1) {
			t.Errorf("the new way is version %d of %v", m.Version, m.Predecessors)
		}
		if strings.Contains(m.Content, "novel") && m.Status != memory.StatusSuperseded {
			t.Errorf("the old way is %s", m.Status)
		}
	}
}

func TestAProcedureToldAgainIsKnown(t *testing.T) {
	const way = "When I can't sleep, I read a novel."
	l := live(t, []string{way, way}, []string{way},
		[]string{"When I can't sleep, I count sheep.", "When I can't sleep, I drink milk."})
	var got []string
	for _, v := range l.Verdicts {
		for _, op := range v.Operations {
			got = append(got, string(op.Kind))
		}
	}
	if want := []string{"ADD", "NONE", "NONE", "UPDATE", "UPDATE"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// An earlier state in a later turn does not replace the current one.
func TestAProcedureToldLateIsThePast(t *testing.T) {
	f := membuilder.NewEmbeddedOver(formationtest.Quoting(membuilder.Name))
	in := session("To make coffee, I first grind the beans, then I pour the water.")
	candidates, err := f.Extract(t.Context(), in)
	if err != nil || len(candidates) != 1 {
		t.Fatalf("%+v, %v", candidates, err)
	}
	m := stored("p-1", memory.KindProcedural, "I make coffee by pressing a button.")
	m.Slot, m.ValidFrom = candidates[0].Slot, day.AddDate(0, 1, 0)
	b := formation.Bundle{Session: in, Related: []formation.Related{
		{Candidate: candidates[0], Memories: []memory.Memory{m}, Similarity: []float64{0.9}}}}
	v, err := f.Decide(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if w := apply(t, b, v); len(w.Put) != 1 || w.Put[0].Status != memory.StatusSuperseded ||
		!w.Put[0].ValidTo.Equal(m.ValidFrom) || len(w.Close) != 0 {
		t.Errorf("wrote %+v", w)
	}
}

func TestProceduresAreKnownByWhatTheyTell(t *testing.T) {
	for _, said := range []string{
		"I read a novel when I can't sleep.", "If my knee hurts, I put ice on it.",
		"Whenever the smoke alarm beeps I change the battery.",
		"I always warm up before I run.", "Every morning I stretch, then I meditate for ten minutes.",
		"Before bed I brush my teeth, then read.",
		"First I grind the beans. Then I pour the water.",
		"My pancake recipe:\n1. Mix flour and milk\n2. Let it rest for an hour\n3. Fry in butter",
		"Here's how I water the plants: I fill the can, then I add fertiliser, and finally I water from below.",
		"I start by soaking the beans overnight, next I boil them for an hour.",
		"I make coffee by grinding the beans and pouring hot water over them.",
		"To reset the router I unplug it, wait ten seconds and plug it in again.",
	} {
		l := live(t, []string{said})
		if got := of(t, l, memory.KindProcedural); len(got) != 1 || len(l.Active(t, scope)) != 1 {
			t.Errorf("%q became %+v", said, l.Active(t, scope))
		}
	}
}

// Steps with the same purpose replace the old ones, in whatever words. An action on an occasion changes only the
// entries that the judge names.
func TestProceduresGiveWayToTheirOwn(t *testing.T) {
	l := live(t, []string{"When I can't sleep, I read a novel."}, []string{"I listen to the radio when I can't sleep."},
		[]string{"I avoid big hotels when I travel for work."}, []string{"I take my own pillow when I travel for work."},
		[]string{"To make coffee, I first grind the beans, then I pour the water."},
		[]string{"I make coffee by pressing a button."})
	want := []string{"I avoid big hotels when I travel for work.", "I listen to the radio when I can't sleep.",
		"I make coffee by pressing a button.", "I take my own pillow when I travel for work."}
	got := of(t, l, memory.KindProcedural)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("procedures are %q, want %q", got, want)
	}
}

func TestWhatIsNoProcedure(t *testing.T) {
	for _, said := range []string{"When I was a child, I lived in Faro.", "When I retire, I want to sail.",
		"First I was late, then it rained yesterday.", "I like it when it rains.", "I was happy when Eva came.",
		"If it rains I am sad.",
		"Let me know when you arrive.", "I'll call you when I land.", "I moved after I finished school.",
		"To be honest, I work a lot.",
		"What do I do when I can't sleep?", "I agree with Eva. They matter when nobody else helps.",
		"I think of my dog Max. Here's a photo: he lies next to me."} {
		if got := of(t, live(t, []string{said}), memory.KindProcedural); len(got) != 0 {
			t.Errorf("%q became %q", said, got)
		}
	}
}

// Common knowledge is no memory of the user's. A fact about the user's world is one, and so is a text that the policy
// cannot read.
func TestEmbeddedSkipsCommonKnowledge(t *testing.T) {
	for _, said := range []string{"Octopuses have three hearts.", "Diamonds are made from carbon."} {
		l := live(t, []string{"I live in Porto.", said})
		ops := l.Verdicts[0].Operations
		last := ops[len(ops)-1]
		if len(l.Active(t, scope)) != 1 || last.Kind != memory.OpNone || !slices.Equal(last.Sources, []string{"saturn-b"}) {
			t.Errorf("%q is %+v", said, ops)
		}
	}
	for _, said := range []string{"Green tea is the best.", "Saturdays are for pancakes and comics.",
		"Window seats are better.",
		"Eva is a dentist.", "The flat has a balcony.", "Rent is 900 a month.", "Coffee keeps me awake until dawn.",
		"Allergic to peanuts.",
		"Vivo em Lisboa.", "Dinner is at eight.", "Sou enfermeira.", "I have three hearts."} {
		if l := live(t, []string{said}); len(l.Active(t, scope)) != 1 {
			t.Errorf("%q is no memory: %+v", said, l.Verdicts[0].Operations)
		}
	}
	l := live(t, []string{"I collect diamonds.", "Diamonds are made from carbon."},
		[]string{"Diamonds are made from pure carbon."})
	if got := of(t, l, memory.KindSemantic); len(got) != 3 {
		t.Errorf("semantic memory is %q, want what has to do with the user's diamonds, too", got)
	}
}

// originals are the versions before an entry, from the first on.
func originals(t *testing.T, l *formationtest.Life, m memory.Memory) (contents []string) {
	t.Helper()
	history, err := l.Bank.History(t.Context(), scope, m.ID)
	if err != nil || len(history) == 0 || history[len(history)-1].ID != m.ID {
		t.Fatalf("history %+v, %v", history, err)
	}
	for _, h := range history[:len(history)-1] {
		if h.Status != memory.StatusSuperseded || len(h.Sources) == 0 {
			t.Errorf("%q is %s, from %q", h.Content, h.Status, h.Sources)
		}
		contents = append(contents, h.Content)
	}
	return contents
}

// An UPDATE or a MERGE loses no text: the replaced entries are found from the new one, word for word.
func TestOriginalsStayRetrievable(t *testing.T) {
	const climbed = "Yesterday I went climbing in Sintra with Eva"
	for name, c := range map[string]struct {
		sessions [][]string
		op       memory.OpKind
		want     []string
	}{
		"a new value": {[][]string{{"I live in Porto."}, {"I live in Braga now."}}, memory.OpUpdate,
			[]string{"I live in Porto."}},
		"of what was told two times": {[][]string{{"I live in Porto."}, {"My home is Porto town."}, {"I live in Braga now."}},
			memory.OpUpdate,
			[]string{"I live in Porto.", "My home is Porto town."}},
		"a range of time": {[][]string{{climbed + "."}, {climbed + " again."}}, memory.OpMerge,
			[]string{"Yesterday (2024-05-05) I went climbing in Sintra with Eva."}},
		"in steps": {[][]string{{"To make coffee, I first grind the beans, then I pour the water."},
			{"I make coffee by pressing a button."}},
			memory.OpUpdate, []string{"To make coffee, I first grind the beans, then I pour the water."}},
		"on an occasion": {[][]string{{"When I can't sleep, I read."}, {"When I can't sleep, I sing."},
			{"When I can't sleep, I cook."}},
			memory.OpUpdate, []string{"When I can't sleep, I read.", "When I can't sleep, I sing."}},
	} {
		l := live(t, c.sessions...)
		ops := l.Verdicts[len(l.Verdicts)-1].Operations
		active := l.Active(t, scope)
		if len(ops) != 1 || ops[0].Kind != c.op || len(active) != 1 {
			t.Errorf("%s: got %+v, active %+v", name, ops, active)
			continue
		}
		if got := originals(t, l, active[0]); !slices.Equal(got, c.want) {
			t.Errorf("%s: before it were %q, want %q", name, got, c.want)
		}
	}
}

func TestRepeatedEventsBecomeARange(t *testing.T) {
	l := live(t, []string{"Yesterday I went climbing in Sintra with Eva."},
		[]string{"Yesterday I went climbing in Sintra with Eva again."},
		[]string{"Last Saturday I went climbing in Sintra with Eva."})
	got := of(t, l, memory.KindEpisodic)
	if len(got) != 1 || !strings.HasPrefix(got[0], "2024-05-05: ") || strings.Count(got[0], "Sintra") != 3 {
		t.Fatalf("got %q, want one entry that tells of all three", got)
	}
	m := l.Active(t, scope)[0]
	if when := m.EventTime; !when.Time.Equal(date(2024, 5, 5)) || !when.End.Equal(date(2024, 6, 29)) || m.Version != 3 {
		t.Errorf("version %d, at %+v", m.Version, when)
	}
}

func TestOtherEventsStayApart(t *testing.T) {
	const first = "Yesterday I went climbing in Sintra with Eva."
	for name, later := range map[string]string{
		"another place": "Yesterday I went climbing in Porto with Eva.",
		"more of it":    "Yesterday I went climbing in Sintra with Eva and broke my arm.",
		"a plan":        "Tomorrow I am going climbing in Sintra with Eva.",
		"a vague time":  "Some time ago I went climbing in Sintra with Eva.",
	} {
		l := live(t, []string{first}, []string{later})
		for _, m := range l.Active(t, scope) {
			if !m.EventTime.End.IsZero() {
				t.Errorf("%s: %q", name, m.Content)
			}
		}
	}
}

// For any session, the bank and the block can apply the decisions, and the block stays within its bounds.
func TestEmbeddedVerdictsAreApplicable(t *testing.T) {
	said := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"I live in Porto.", "I moved to Braga.", "I love green tea.", "I no longer love green tea.", "I hate rain.",
		"My cat is called Momo.",
		"When I can't sleep, I read.", "When I can't sleep, I sing.", "Yesterday I went climbing in Sintra.",
		"Last week I went climbing in Sintra.",
		"I work as a nurse.", "I also work as a teacher.", "I am a nurse, not a teacher.", "I never lived in Braga.",
	}))
	f := membuilder.NewEmbedded()
	rapid.Check(t, func(t *rapid.T) {
		l := formationtest.NewLife(f)
		for i := range rapid.IntRange(1, 4).Draw(t, "sessions") {
			in := session(rapid.SliceOfN(said, 1, 4).Draw(t, "said")...)
			in.ID = "s" + strconv.Itoa(i)
			for j := range in.Turns {
				in.Turns[j].ID, in.Turns[j].SessionID, in.Turns[j].Time = in.ID+in.Turns[j].ID, in.ID,
					in.Turns[j].Time.AddDate(0, 0, 9*i)
			}
			v, _, err := l.Form(context.Background(), in)
			if err != nil {
				t.Fatalf("session %d: %v", i, err)
			}
			if n := l.Core().Length(); n > memory.CoreCapacity {
				t.Fatalf("the block has %d characters after %+v", n, v.Core)
			}
		}
	})
}

func BenchmarkEmbedded(b *testing.B) {
	f := membuilder.NewEmbedded()
	in := session("I moved to Braga last week.", "Yesterday I went climbing in Sintra with Eva again.",
		"When I can't sleep, I listen to the radio.", "I no longer love green tea.")
	candidates, err := f.Extract(b.Context(), in)
	if err != nil {
		b.Fatal(err)
	}
	formation.Number(candidates)
	var memories []memory.Memory
	for i := range 20 {
		m := stored("e-"+strconv.Itoa(i), memory.KindEpisodic,
			"Ana went climbing in place number "+strconv.Itoa(i)+" with Eva.")
		m.EventTime = memory.EventTime{Time: date(2024, 3, 1+i), Precision: memory.PrecisionDay}
		memories = append(memories, m)
	}
	related := formation.Bundle{Session: in}
	for _, c := range candidates {
		related.Related = append(related.Related, formation.Related{Candidate: c, Memories: memories,
			Similarity: make([]float64, len(memories))})
	}
	for b.Loop() {
		if _, err := f.Extract(b.Context(), in); err != nil {
			b.Fatal(err)
		}
		if _, err := f.Decide(b.Context(), related); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(in.Turns)), "µs/turn")
}
