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
	"github.com/mneme-memory/mneme/shared/memory"
)

// told forms a session of each list of texts into a new bank and returns it.
func told(t *testing.T, sessions ...[]string) *formationtest.Life {
	t.Helper()
	l := formationtest.NewLife(deltamem.NewEmbedded())
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
	things := []string{"violin", "kayak", "sourdough", "telescope", "cactus", "accordion", "hammock", "lantern", "typewriter", "canoe"}
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

func TestEmbeddedLooksOnlyForWhatMayChange(t *testing.T) {
	f := deltamem.NewEmbedded()
	for name, c := range map[string]struct {
		texts  []string
		counts []int // of the memories that each lookup asks for
	}{
		"a value":            {[]string{"I live in Porto."}, []int{5}},
		"a denial":           {[]string{"I no longer play tennis."}, []int{5}},
		"a change":           {[]string{"We swapped the old piano for a violin."}, []int{5}},
		"others share":       {plain(4), []int{20}},
		"more others":        {plain(8), []int{20, 20}},
		"short ones share":   {[]string{"I sing opera.", "I speak Dutch.", "I like jazz."}, []int{20, 20}},
		"one and the others": {append(plain(3), "I live in Porto."), []int{5, 20}},
	} {
		b := bundle(t, f, c.texts...)
		v, err := f.Decide(t.Context(), b)
		if err != nil || len(b.Related) != len(c.texts) {
			t.Fatalf("%s: %+v, %v", name, b.Related, err)
		}
		var counts []int
		for _, l := range v.Lookups {
			counts = append(counts, l.K)
		}
		if !slices.Equal(counts, c.counts) || len(v.Operations) != 0 {
			t.Errorf("%s: lookups %+v", name, v.Lookups)
		}
	}
}

// However long a session is, one round of lookups is enough, and no more than a workflow makes.
func TestEmbeddedSearchesAreBounded(t *testing.T) {
	f := deltamem.NewEmbedded()
	var texts []string
	for i, text := range plain(400) {
		texts = append(texts, text, fmt.Sprintf("I no longer visit the %s of number %d.", []string{"club", "choir", "gym"}[i%3], i))
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
	if v, err = f.Decide(t.Context(), found(b, v)); err != nil || len(v.Lookups) != 0 || len(v.Operations) < len(candidates) {
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

// What a session says again is found by the searches that statements share, whatever it stands among.
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

func TestEmbeddedAsksForLessThanASearchAMemory(t *testing.T) {
	l := told(t, unrelated()[:12], append(unrelated()[12:], "I live in Porto."),
		[]string{"I moved to Braga.", "It rained in Turin all day when we visited the museum."})
	memories := len(l.Active(t, scope))
	if l.Searches == 0 || float64(l.Searches) > 0.5*float64(memories) {
		t.Errorf("%d searches for %d memories", l.Searches, memories)
	}
}

func TestEmbeddedRefusesForeignResults(t *testing.T) {
	f := deltamem.NewEmbedded()
	b := bundle(t, f, "I live in Porto.")
	b.Found = make([]formation.Found, 3)
	if v, err := f.Decide(t.Context(), b); !fault.IsTerminal(err) {
		t.Errorf("got %+v, %v", v, err)
	}
}
