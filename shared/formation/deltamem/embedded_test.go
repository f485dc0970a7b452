package deltamem_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/deltamem"
	"github.com/mneme-memory/mneme/shared/formation/formationtest"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// quoting is the former with a judge that knows one change.
func quoting() *deltamem.Embedded {
	return &deltamem.Embedded{Former: formationtest.Quoting(deltamem.Name,
		formationtest.Judged{Later: "I live in Braga", Stored: "I live in Porto", Does: relation.Replaces})}
}

// told forms a session of each list of texts into a new bank and returns it.
func told(t *testing.T, sessions ...[]string) *formationtest.Life {
	t.Helper()
	l := formationtest.NewLife(quoting())
	for i, texts := range sessions {
		in := session(texts...)
		in.ID = fmt.Sprint("s", i+1)
		for j := range in.Turns {
			in.Turns[j].ID, in.Turns[j].SessionID = fmt.Sprintf("%s:%03d", in.ID, j), in.ID
			in.Turns[j].Time = in.Turns[j].Time.AddDate(0, i, 0)
		}
		if _, _, err := l.Form(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// plain are statements that change nothing.
func plain(n int) []string {
	things := []string{"violin", "kayak", "sourdough", "telescope", "cactus", "accordion", "hammock", "lantern",
		"typewriter", "canoe"}
	places := []string{"Lisbon", "Oslo", "Ghent", "Turin", "Malmo", "Cork", "Basel", "Graz", "Split", "Nantes"}
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("I bought a %s with my friend in %s.", things[i%10], places[(i/10+i)%10])
	}
	return out
}

// unrelated are statements that have nothing to do with each other.
func unrelated() []string {
	return strings.Split(`My aunt Rosa repairs clocks in Vienna.
I collect stamps with lighthouses on them.
Peanuts make my throat swell.
Our roof has eleven solar panels.
I was born during a thunderstorm.
My grandfather built boats near Gdansk.
I read detective novels before going to bed.
The school choir sings Bach at Easter.
I broke my left ankle on an icy staircase.
My bicycle has a wooden basket.
Our neighbour Pedro teaches Portuguese.
I paint watercolours of old bridges.
Coffee keeps me awake until dawn.
I play chess by post with a man in Reykjavik.
My mother grows tomatoes on her balcony.
Our greyhound Juno snores.
I am scared of spiders.
My desk stands beside a huge window.
I volunteer at the food bank.
Our wedding cake had lemon and thyme.
I speak Finnish with my cousins.
My uncle Karl drives a night train.
I have a scar from a kite string.
Saturdays are for pancakes and comics.`, "\n")
}

func TestEmbeddedSharesSearches(t *testing.T) {
	f := quoting()
	for name, c := range map[string]struct {
		texts []string
		want  []string // the searches
	}{
		"one statement": {[]string{"I live in Porto."}, []string{"I live in Porto."}},
		"what may change, by twos": {[]string{"I live in Porto.", "I love green tea.", "I am allergic to peanuts.",
			"My dog is a poodle."},
			[]string{"I live in Porto. I love green tea.", "I am allergic to peanuts. My dog is a poodle."}},
		"what happened, the shortest first": {plain(3), []string{plain(3)[1] + " " + plain(3)[0] + " " + plain(3)[2]}},
		"short ones with fewer": {[]string{"I sang loudly.", "We ate apples.", "I fell asleep.", "We won again."},
			[]string{"We won again. I sang loudly.", "We ate apples. I fell asleep."}},
		"what is left over, with what happened": {append(plain(1), "My dog is a poodle.", "I live in Porto.",
			"I love green tea."),
			[]string{"My dog is a poodle. I live in Porto.", "I love green tea. " + plain(1)[0]}},
	} {
		b := bundle(t, f, c.texts...)
		v, err := f.Decide(t.Context(), b)
		if err != nil || len(b.Related) != len(c.texts) {
			t.Fatalf("%s: %+v, %v", name, b.Related, err)
		}
		var got []string
		for _, l := range v.Lookups {
			got = append(got, l.Text)
		}
		if !slices.Equal(got, c.want) || len(v.Operations) != 0 {
			t.Errorf("%s: searches for %q, want %q", name, got, c.want)
		}
	}
}

// Statements of one matter are found together, and do not drown each other.
func TestEmbeddedPairsWhatIsNear(t *testing.T) {
	f := quoting()
	b := bundle(t, f, "I live in Porto.", "I love green tea.", "My flat is in the old town.",
		"My favourite drink is coffee.")
	for i, v := range []memory.Vector{{1, 0}, {0, 1}, {1, 0.1}, {0.1, 1}} {
		b.Related[i].Candidate.Vector = v
	}
	v, err := f.Decide(t.Context(), b)
	if err != nil || len(v.Lookups) != 2 || v.Lookups[0].Text != "I live in Porto. My flat is in the old town." {
		t.Errorf("got %+v, %v", v.Lookups, err)
	}
}

// However long a session is, one round of lookups is enough, and no more than a workflow makes.
func TestEmbeddedSearchesAreBounded(t *testing.T) {
	f := quoting()
	var texts []string
	for i, text := range plain(400) {
		texts = append(texts, text, fmt.Sprintf("I no longer visit the %s of number %d.",
			[]string{"club", "choir", "gym"}[i%3], i))
	}
	in := session()
	for i, text := range texts {
		turn := formationtest.Turns(text)[0]
		turn.ID = fmt.Sprintf("turn-%04d", i)
		in.Turns = append(in.Turns, turn)
	}
	candidates, err := f.Extract(t.Context(), in)
	if err != nil || len(candidates) < 400 {
		t.Fatalf("%d statements, %v", len(candidates), err)
	}
	formation.Number(candidates)
	b := formation.Bundle{Session: in}
	for _, c := range candidates {
		b.Related = append(b.Related, formation.Related{Candidate: c})
	}
	v, err := f.Decide(t.Context(), b)
	if err != nil || len(v.Lookups) > 64 || len(v.Lookups) == 0 {
		t.Fatalf("%d lookups, %v", len(v.Lookups), err)
	}
	if v, err = f.Decide(t.Context(), found(b, v)); err != nil || len(v.Lookups) != 0 ||
		len(v.Operations) < len(candidates) {
		t.Errorf("%d operations and %d lookups, %v", len(v.Operations), len(v.Lookups), err)
	}
}

func TestEmbeddedUpdatesWhatItFinds(t *testing.T) {
	l := told(t, []string{"I live in Porto.", "I love green tea."}, plain(5), []string{"I live in Braga now."})
	ops := l.Verdicts[2].Operations
	if len(ops) != 1 || ops[0].Kind != memory.OpUpdate || !strings.Contains(ops[0].New.Content, "Braga") {
		t.Errorf("got %+v", ops)
	}
}

// A repetition in a session is found by the searches that statements share, in every order of the statements.
func TestEmbeddedFindsRepetitions(t *testing.T) {
	first := unrelated()
	again := append(slices.Clone(first[10:17]), "My neighbour keeps two goats.")
	l := told(t, first[:8], first[8:16], first[16:], again)
	none := 0
	for _, op := range l.Verdicts[3].Operations {
		if op.Kind == memory.OpNone {
			none++
		}
	}
	if none != 7 {
		t.Errorf("%d of 7 repetitions were found: %+v", none, l.Verdicts[3].Operations)
	}
}

func TestEmbeddedSearchesOnceForTwoMemories(t *testing.T) {
	l := told(t, unrelated()[:12], append(unrelated()[12:], "I live in Porto."),
		[]string{"I live in Braga now.", "It rained in Turin all day when we visited the museum."})
	memories := len(l.All(t, scope))
	if l.Searches == 0 || 2*l.Searches > memories+len(l.Verdicts) {
		t.Errorf("%d searches for %d memories of %d sessions", l.Searches, memories, len(l.Verdicts))
	}
}

func TestEmbeddedRefusesForeignResults(t *testing.T) {
	f := quoting()
	b := bundle(t, f, "I live in Porto.")
	b.Found = make([]formation.Found, 3)
	if v, err := f.Decide(t.Context(), b); !fault.IsTerminal(err) {
		t.Errorf("got %+v, %v", v, err)
	}
}
