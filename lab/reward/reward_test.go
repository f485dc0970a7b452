package reward_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/lab/reward"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

// towards returns a vector at a cosine to the first axis.
func towards(cosine float64) memory.Vector {
	return memory.Vector{float32(cosine), float32(math.Sqrt(1 - cosine*cosine))}
}

func entry(text string, v memory.Vector, keywords ...string) reward.Entry {
	return reward.Entry{Text: text, Vector: v, Keywords: keywords}
}

// Hand-made case: two entries are made and two wanted. One pair says the same with two of three keywords; the other
// is below tau. So the shared content is 2/3 of one entry, precision and recall are 1/3, and the soft F1 is 1/3 (Eq.
// 4 to 7).
func TestTheTransitionOfASessionByHand(t *testing.T) {
	wanted := []reward.Entry{
		entry("Ana moved to Porto in May with her cat.", towards(1), "Porto", "May", "cat"),
		entry("Ana likes rye bread.", memory.Vector{-1, 0}, "rye"),
	}
	made := []reward.Entry{entry("Ana lives in Porto since May.", towards(0.9)), entry("Ana is well.", towards(0.1))}
	got := reward.StateTransition(nil, made, wanted, reward.TransitionDefaults())
	if got.Made != 2 || got.Wanted != 2 || !near(got.Shared, 2.0/3) || !near(got.Precision, 1.0/3) ||
		!near(got.F1, 1.0/3) {
		t.Errorf("got %+v", got)
	}
	if r := got.Reward(true, false, reward.TransitionDefaults()); !near(r, 0.1+0.8/3) {
		t.Errorf("reward %v, want the format's part and the state's", r)
	}
}

func TestWhatATransitionCounts(t *testing.T) {
	porto := entry("Ana lives in Porto.", towards(1), "Porto")
	faro := entry("Ana lives in Faro.", towards(0.95), "Faro")
	unexpected := porto
	unexpected.Replaced = []string{"Ana likes tea."}
	tea := entry("Ana likes tea.", memory.Vector{-1, 0}, "tea")
	expected := porto
	expected.Replaced = []string{"Ana lives in Faro."}
	usual := reward.TransitionDefaults()
	plain, said, loose, printed := usual, usual, usual, usual
	plain.Keywords = false
	printed.Printed = true
	before := []reward.Entry{tea}
	said.Said = "I moved, you know where."
	loose.NothingIsRight = false
	type list = []reward.Entry
	for name, tc := range map[string]struct {
		made, wanted list
		o            reward.TransitionOptions
		f1           float64
	}{
		"all that was wanted":                              {list{porto, tea}, list{tea, porto}, usual, 1},
		"some of it as it was wanted, as Eq. 2 is printed": {list{porto}, list{porto, faro}, printed, 0},
		"some of it as it was wanted":                      {list{porto}, list{porto, faro}, usual, 2.0 / 3},
		"what should have gone":                            {list{tea}, nil, usual, 0},
		"in other words, with the keyword": {list{entry("Porto is where Ana lives.", towards(1))},
			list{porto}, usual, 1},
		"the same vector, without the keyword":     {list{faro}, list{porto}, usual, 0},
		"the same without keyword coverage":        {list{faro}, list{porto}, plain, 0.95}, // its similarity (5.1)
		"a keyword that nobody said is not wanted": {list{faro}, list{porto}, said, 1},
		"again what was there is one made":         {list{tea, tea, porto}, list{tea, porto}, usual, 2 * 0.5 / 1.5},
		"nothing wanted, nothing made":             {list{tea}, list{tea}, usual, 1},
		"as Eq. 7 is printed":                      {list{tea}, list{tea}, loose, 0},
		"nothing made where something was wanted":  {list{tea}, list{tea, porto}, usual, 0},
		"something made where nothing was wanted":  {list{tea, porto}, list{tea}, usual, 0},
		"made by replacing what should have stayed": {list{with(unexpected, "Ana lives in Porto now.")},
			list{porto, tea}, usual, 0},
		"made by replacing what should have gone": {list{with(expected, "Ana lives in Porto now.")}, list{porto},
			usual, 1},
		"one that fits two is paired with one of them": {
			list{entry("Porto!", towards(1))}, list{porto, with(porto, "Ana, Porto.")}, usual, 2.0 / 3,
		},
	} {
		if got := reward.StateTransition(before, tc.made, tc.wanted, tc.o); !near(got.F1, tc.f1) {
			t.Errorf("%s: %+v, want F1 %v", name, got, tc.f1)
		}
	}
}

func with(e reward.Entry, text string) reward.Entry {
	e.Text = text
	return e
}

// For any states, the reward is within its bounds, and the wanted state has the highest reward.
func TestTransitionsAreBounded(t *testing.T) {
	words := []string{"Porto", "Faro", "tea", "rye", "cat", "May"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (out []reward.Entry) {
			for range rapid.IntRange(0, 4).Draw(t, name) {
				a, b := rapid.SampledFrom(words).Draw(t, "a"), rapid.SampledFrom(words).Draw(t, "b")
				out = append(out, entry("Ana "+a+" "+b, towards(rapid.Float64Range(-1, 1).Draw(t, "cosine")), a, b))
			}
			return out
		}
		before, made, wanted := draw("before"), draw("made"), draw("wanted")
		o := reward.TransitionDefaults()
		got, best := reward.StateTransition(before, made, wanted, o), reward.StateTransition(before, wanted, wanted, o)
		if r := got.Reward(true, true, o); !(r >= 0 && r <= 1+1e-9) || got.Shared > float64(min(got.Made, got.Wanted))+1e-9 {
			t.Fatalf("%+v", got)
		}
		if best.F1 < 1-1e-6 {
			t.Fatalf("what was wanted is worth %+v", best)
		}
	})
}

// Figures of the paper: a right and fully personal answer has 1.45, a wrong one 0. A bank of four factual entries
// with one vague entry has gamma 0.75.
func TestTheRewardsOfStagesByHand(t *testing.T) {
	o := reward.StageDefaults()
	for r, want := range map[reward.Response]float64{
		{Accuracy: 1, Personalization: 1, Applicable: true}: 1.45, {Accuracy: 0, Personalization: 1, Applicable: true}: 0,
		{Accuracy: 0.5, Personalization: 0.5, Applicable: true}: 0.5 * 1.225, {Accuracy: 0.7, Personalization: 1}: 0.7,
	} {
		if got := o.ResponseQuality(r); !near(got, want) {
			t.Errorf("R1 of %+v is %v, want %v", r, got, want)
		}
	}
	for e, want := range map[reward.Entries]float64{
		{All: 4, Factual: 4, Vague: 1}: -0.5*0.25 + 0.3*0.75, {All: 2}: -0.5, {All: 2, Factual: 2}: 0.3, {}: 0.3,
		{All: 3, Factual: 3, Vague: 3}: -0.5,
	} {
		if got := o.MemoryQuality(e); !near(got, want) {
			t.Errorf("R2 of %+v is %v, want %v", e, got, want)
		}
	}
	if got := o.PenaltyOfText().MemoryQuality(reward.Entries{All: 2}); !near(got, -0.9) {
		t.Errorf("R2 with the penalty of the text is %v, want three times the bonus", got)
	}
	// Of six kept turns four are salient. There are eight salient turns: precision 2/3, recall 1/2.
	g := reward.Gating{Kept: 6, KeptRight: 4, Salient: 8}
	if got := o.Quality(g); !near(got, 0.4*2/3+0.6*0.5) {
		t.Errorf("kappa is %v", got)
	}
	if got := o.UtilizationAndFilter(0.7, g); !near(got, 0.15*0.7+0.1*(0.4*2/3+0.6*0.5)) {
		t.Errorf("R3 is %v", got)
	}
	if got := o.Quality(reward.Gating{}); !near(got, 1) {
		t.Errorf("kappa of nothing is %v", got)
	}
}

func TestRewardsOfStagesAreBounded(t *testing.T) {
	o := reward.StageDefaults()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 9).Draw(t, "entries")
		e := reward.Entries{All: n, Factual: rapid.IntRange(0, n).Draw(t, "factual"),
			Vague: rapid.IntRange(0, n).Draw(t, "vague")}
		if r := o.MemoryQuality(e); r < -o.Penalty-1e-9 || r > o.Bonus+1e-9 {
			t.Fatalf("R2 of %+v is %v", e, r)
		}
		if e.Vague > 0 {
			better := e
			better.Vague--
			if o.MemoryQuality(better) < o.MemoryQuality(e)-1e-12 {
				t.Fatalf("less vague is worth less: %+v", e)
			}
		}
	})
}

func TestFailuresAreAttributedByContent(t *testing.T) {
	keywords, told := []string{"Porto", "May"}, []string{"Ana moved to Porto in May."}
	for name, tc := range map[string]struct {
		bank, profile []string
		answer        string
		want          reward.Stage
	}{
		"in the answer": {told, []string{"Ana: Porto, May"}, "To Porto, in May.", reward.StageNone},
		"an entry that leaves it out": {[]string{"Ana moved."}, []string{"Ana moved."}, "I do not know.",
			reward.StageMemory},
		"told by two entries, half by each": {[]string{"Ana moved to Porto.", "It was in May."}, nil, "", reward.StageMemory},
		"not in the profile":                {told, []string{"Ana likes tea."}, "No.", reward.StageProfile},
		"not used":                          {told, told, "To Faro.", reward.StageAnswer},
	} {
		if got := reward.Attribute(keywords, tc.bank, tc.profile, tc.answer, 0.99); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestTheDenseRewardByHand(t *testing.T) {
	o := reward.DenseDefaults()
	for grown, want := range map[float64]float64{-50: 0, 150: 0, 275: 0.5, 400: 1, 1000: 1} {
		if got := o.CoreLength(grown); !near(got, want) {
			t.Errorf("the core block grown by %v tokens: %v, want %v", grown, got, want)
		}
	}
	for w, want := range map[reward.Written]float64{
		{Tokens: 1000, Expert: 1000}: 0, {Tokens: 1300, Expert: 1000}: 0, {Tokens: 1650, Expert: 1000}: 0.5,
		{Tokens: 2000, Expert: 1000}: 1,
		{Tokens: 9000, Expert: 1000}: 1, {Tokens: 500, Expert: 1000}: 0, {Tokens: 350, Expert: 1000}: 0.5,
		{Tokens: 200, Expert: 1000}: 1,
		{Tokens: 0, Expert: 1000}:   1, {Tokens: 199, Expert: 0}: 0, {Tokens: 201, Expert: 0}: 1, {Tokens: 0, Expert: 150}: 0,
	} {
		if got := o.KindLength(w); !near(got, want) {
			t.Errorf("%+v: %v, want %v", w, got, want)
		}
	}
	strict := o
	strict.Difference = 0
	if got := strict.KindLength(reward.Written{}); got != 0 {
		t.Errorf("nothing where nothing was wanted: %v", got)
	}
	s := reward.Session{Valid: true, Right: 4, Asked: 5, Core: 275,
		Kinds: []reward.Written{{Tokens: 2000, Expert: 1000}, {}, {}}}
	if r, ok := o.Dense(s); !ok || !near(r, 0.8*(1-0.8*(0.5+1)/4)) {
		t.Errorf("with the mean of the penalties %v", r)
	}
	o.Join = reward.JoinMax
	if r, ok := o.Dense(s); !ok || !near(r, 0.8*(1-0.8)) {
		t.Errorf("with the worst of the penalties %v", r)
	}
	s.Valid = false
	if r, ok := o.Dense(s); !ok || r != 0 {
		t.Errorf("without its form %v, %t", r, ok)
	}
	if _, ok := o.Dense(reward.Session{Valid: true}); ok {
		t.Error("a session about which nothing is asked has a reward")
	}
}

func TestTheRewardOfAHorizonByHand(t *testing.T) {
	o := reward.HorizonDefaults()
	asked := []reward.Asked{
		{Sessions: []string{"s1"}, Score: 1}, {Sessions: []string{"s1", "s2"}, Score: 0.5},
		{Sessions: []string{"s3"}, Score: 0},
	}
	// 900 tokens of memory for 1,000 said tokens: 200 above the free length, so 0.3 * 0.2.
	for session, want := range map[string]float64{"s1": 0.75 - 0.06, "s2": 0.5 - 0.06, "s3": -0.06} {
		if r, ok := o.Horizon(session, asked, 900, 1000); !ok || !near(r, want) {
			t.Errorf("%s: %v, %t, want %v", session, r, ok, want)
		}
	}
	if _, ok := o.Horizon("s4", asked, 900, 1000); ok {
		t.Error("a session that no question is about has a reward")
	}
	if p := o.Penalty(700, 1000); p != 0 {
		t.Errorf("what is free costs %v", p)
	}
	if r, ok := reward.Outcome(asked); !ok || !near(r, 0.5) {
		t.Errorf("the outcome is %v", r)
	}
	if _, ok := reward.Outcome(nil); ok {
		t.Error("no questions have an outcome")
	}
}

func TestSettingsAreChecked(t *testing.T) {
	transition, stages, dense, horizon := reward.TransitionDefaults(), reward.StageDefaults(), reward.DenseDefaults(),
		reward.HorizonDefaults()
	for _, o := range []interface{ Validate() error }{transition, stages, dense, horizon} {
		if err := o.Validate(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	transition.Tau, stages.FilterRecall, dense.Join, horizon.Free = 2, -1, "sum", math.NaN()
	for _, o := range []interface{ Validate() error }{transition, stages, dense, horizon} {
		if err := o.Validate(); !fault.IsTerminal(err) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
