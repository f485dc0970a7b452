package reinforcement

import (
	"context"
	"testing"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/lab/reward"
	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

// someone returns a hand-made life of three sessions: a move, another fact about the flat, and a move that ends both.
func someone(t *testing.T, last ...synthesis.Target) *person {
	t.Helper()
	turn := func(id, text string) synthesis.Turn {
		return synthesis.Turn{Turn: memory.Turn{ID: id, Speaker: "Ana", Text: text}, Salient: true}
	}
	p := synthesis.Person{
		ID: "ana",
		Sessions: []synthesis.Session{
			{ID: "s1", Turns: []synthesis.Turn{turn("t1", "I moved to Porto in May. My sister cried when I told her.")}},
			{ID: "s2", Turns: []synthesis.Turn{turn("t2", "My flat in Porto is right next to the botanical garden.")}},
			{ID: "s3", Turns: []synthesis.Turn{turn("t3", "I left Porto and settled in Braga.")}},
		},
		Targets: append([]synthesis.Target{
			{Session: 0, Turns: []string{"t1"}, Operation: memory.OpAdd, Evolution: synthesis.EvolutionNew, Predecessor: -1,
				Statement: "Ana lives in Porto.", Keywords: []string{"Porto", "moved", "May"}, Value: "Porto"},
			{Session: 1, Turns: []string{"t2"}, Operation: memory.OpUpdate, Evolution: synthesis.EvolutionExpand, Predecessor: 0,
				Statement: "Ana lives in Porto, close to the botanical garden.",
				Keywords:  []string{"botanical garden", "Porto", "flat"},
				Value:     "Porto"},
		}, last...),
	}
	made, err := newPerson(t.Context(), p, builtin.New())
	if err != nil {
		t.Fatal(err)
	}
	return made
}

var (
	braga = synthesis.Target{Session: 2, Turns: []string{"t3"}, Operation: memory.OpUpdate,
		Evolution:   synthesis.EvolutionShift,
		Predecessor: 1, Ends: []int{1, 0}, Statement: "Ana lives in Braga, having left Porto.",
		Keywords: []string{"Braga", "Porto", "left"}, Value: "Braga"}
	gone = synthesis.Target{Session: 2, Turns: []string{"t3"}, Operation: memory.OpDelete,
		Evolution: synthesis.EvolutionEnd, Predecessor: 1,
		Ends: []int{1, 0}, Statement: "Ana no longer lives in Porto.", Keywords: []string{"Porto", "no longer", "left"}}
)

// entry is one entry of a state: its text, its sources and the entries that it replaced.
type entry struct {
	id, text, turn string
	replaced       []string
}

var (
	porto  = entry{"porto", "I moved to Porto in May.", "t1", nil}
	sister = entry{"sister", "My sister cried when I told her.", "t1", nil}
	flat   = entry{"flat", "My flat in Porto is right next to the botanical garden.", "t2", nil}
)

func moved(replaced ...string) entry {
	return entry{"moved", "I left Porto and settled in Braga.", "t3", replaced}
}

func state(t *testing.T, p *person, of ...entry) Remembered {
	t.Helper()
	var formed formation.Formed
	for _, e := range of {
		formed.Entries = append(formed.Entries, memory.Memory{
			ID: e.id, Content: e.text, Sources: []string{e.turn}, Status: memory.StatusActive, Predecessors: e.replaced,
		})
		for _, old := range []entry{porto, sister, flat} { // replaced texts are looked up
			formed.Entries = append(formed.Entries, memory.Memory{ID: old.id, Content: old.text,
				Status: memory.StatusSuperseded})
		}
	}
	made, err := p.made(t.Context(), formed)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestTransitionsByHand(t *testing.T) {
	known := []entry{porto, sister, flat}
	for name, c := range map[string]struct {
		last          synthesis.Target
		before, after []entry
		f1            float64
		unexpected    int
	}{
		"all that ended is gone":              {braga, known, []entry{sister, moved("flat", "porto")}, 1, 0},
		"what was told first stays":           {braga, known, []entry{porto, sister, moved("flat")}, 2.0 / 3, 0},
		"nothing is done":                     {braga, known, known, 0, 0},
		"an aside of the same turn is closed": {braga, known, []entry{flat, moved("sister", "porto")}, 0, 1},
		"what was missed before stays":        {braga, []entry{porto, sister}, []entry{sister, moved("porto")}, 1, 0},
		"an end, and its record":              {gone, known, []entry{sister, moved("flat", "porto")}, 1, 0},
		"an end without a record":             {gone, known, []entry{sister}, 1, 0},
		"a record, and no end":                {gone, known, append([]entry{moved()}, known...), 0, 0},
	} {
		p := someone(t, c.last)
		got := p.transition(state(t, p, c.before...), state(t, p, c.after...), 2, Defaults().Transition)
		if d := got.F1 - c.f1; d > 1e-6 || d < -1e-6 || got.Unexpected != c.unexpected {
			t.Errorf("%s: %+v, want F1 %.3f and %d unexpected", name, got, c.f1, c.unexpected)
		}
	}
}

// Entries that an earlier session should have ended count for no later session, whether they go late or stay.
func TestWhatIsStaleCountsForNeitherSide(t *testing.T) {
	now := synthesis.Target{Session: 2, Turns: []string{"t3"}, Operation: memory.OpUpdate,
		Evolution: synthesis.EvolutionShift, Predecessor: 1,
		Ends: []int{1}, Statement: braga.Statement, Keywords: braga.Keywords, Value: "Braga"}
	p := someone(t, now)
	p.Targets[1].Ends = []int{0} // the second session replaced the first
	before := state(t, p, porto, flat)
	for name, after := range map[string][]entry{
		"stays": {porto, moved("flat")}, "goes, too": {moved("flat", "porto")},
	} {
		if got := p.transition(before, state(t, p, after...), 2, Defaults().Transition); got.F1 < 1-1e-6 {
			t.Errorf("it %s: %+v", name, got)
		}
	}
	for _, shown := range []string{"flat", "porto"} {
		formed := formation.Formed{Shown: []string{shown}}
		if got := p.retrieved(before, formed, 2); got != (shown == "flat") {
			t.Errorf("shown %s alone: retrieved %t", shown, got)
		}
	}
}

// A repetition belongs to its target and ends with it.
func TestARepetitionEndsWithWhatItRepeats(t *testing.T) {
	p := someone(t, braga)
	again := synthesis.Target{Session: 1, Turns: []string{"t2"}, Operation: memory.OpNone,
		Evolution: synthesis.EvolutionAgain, Predecessor: 0,
		Statement: p.Targets[0].Statement, Keywords: p.Targets[0].Keywords, Value: "Porto"}
	made := p.Person
	made.Targets = []synthesis.Target{made.Targets[0], again, braga}
	made.Targets[2].Predecessor, made.Targets[2].Ends = 0, []int{0}
	p, err := newPerson(t.Context(), made, builtin.New())
	if err != nil {
		t.Fatal(err)
	}
	still := entry{"still", "Porto in May: I moved, and am still there.", "t2", nil}
	before := state(t, p, porto, still)
	if got := p.transition(before, state(t, p, moved("porto", "still")), 2, Defaults().Transition); got.F1 < 1-1e-6 {
		t.Errorf("both are closed: %+v", got)
	}
	entries, err := p.rules(2).Entries(t.Context(),
		[]reward.BankEntry{{Text: still.text, From: []reward.Utterance{{ID: "t2"}}}})
	if err != nil || entries.Factual != 0 || entries.All != 1 {
		t.Errorf("the repetition of what is over: %+v, %v", entries, err)
	}
}

// marked gives each answer the marks in its text.
type marked map[string]reward.Response

func (m marked) Response(_ context.Context, a reward.Answered) (reward.Response, error) {
	return m[a.Answer], nil
}
func (marked) Entries(context.Context, []reward.BankEntry) (out reward.Entries, _ error) {
	return out, nil
}
func (marked) Utilization(context.Context, reward.Answered) (float64, error) { return 0, nil }
func (marked) Personalization(context.Context, reward.Answered) (reward.Personalization, error) {
	return reward.PersonalizationNone, nil
}

// A wrong answer earns nothing for being personal, even when another answer is right (SaliMory, Eq. 1).
func TestTheQualityOfAnswersIsTheMeanOfEach(t *testing.T) {
	m := marked{"wrong and personal": {Applicable: true, Personalization: 1}, "right": {Accuracy: 1}}
	v, err := judged(t.Context(), m, reward.StageDefaults(),
		[]reward.Answered{{Answer: "wrong and personal"}, {Answer: "right"}}, nil)
	if err != nil || v.quality != 0.5 {
		t.Errorf("quality %v, %v, want 0.5", v.quality, err)
	}
}
