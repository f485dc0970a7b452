package ranking_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/shared/ranking"
)

// tried is a trace of four by score, with one of the others in its last place, drawn by chance.
func tried(t *testing.T, seed uint64) ranking.Trace {
	t.Helper()
	s, tr := ranking.DefaultSettings(), trace(source(seed), 12, 4, 0, 0)
	scores, err := ranking.Weights{FeatureSet: set, W: start()}.Scores(nil, tr.Candidates)
	if err != nil {
		t.Fatal(err)
	}
	tr.Explored = false
	tr.Shown, tr.Tried = s.Try(source(seed+1), scores, ranking.Top(tr.Candidates, scores, 4))
	return tr
}

// TestTryDrawsAsItSays counts the candidates in the last place, and compares the counts with the propensities by
// chi square.
func TestTryDrawsAsItSays(t *testing.T) {
	const draws = 40000
	s, random, scores := ranking.DefaultSettings(), source(3), []float64{3, 2, 1.5, 0.5, 0, -4}
	counts, propensity := map[int]float64{}, map[int]float64{}
	for range draws {
		order, got := s.Try(random, scores, []int{0, 1, 2})
		if !slices.Equal(order[:2], []int{0, 1}) || len(order) != 3 || got.Place != 3 || got.Of != 3 {
			t.Fatalf("tried %+v in %v", got, order)
		}
		counts[order[2]]++
		propensity[order[2]] = float64(got.Propensity)
	}
	distance, all := 0.0, 0.0
	for c, p := range propensity {
		all += p
		distance += (counts[c] - draws*p) * (counts[c] - draws*p) / (draws * p)
	}
	// one fair draw in a thousand is beyond
	if len(counts) != 3 || counts[5] < draws/7 || math.Abs(all-1) > 1e-6 || distance > 13.82 {
		t.Errorf("drew %v, said %v, chi square %.1f", counts, propensity, distance)
	}
}

func TestTryLeavesNothingOut(t *testing.T) {
	s := ranking.DefaultSettings()
	for name, order := range map[string][]int{"all have a place": {1, 0}, "there are no places": nil} {
		if got, tried := s.Try(source(1), []float64{1, 2}, slices.Clone(order)); !slices.Equal(got, order) ||
			tried != (ranking.Tried{}) {
			t.Errorf("%s: got %v, %+v", name, got, tried)
		}
	}
}

// TestChanceIsThatOfTheRecall checks that the draw of a recall is always the same, and that recalls differ.
func TestChanceIsThatOfTheRecall(t *testing.T) {
	seen := map[uint64]string{}
	for _, tenant := range []string{"acme", "acme1", "globex"} {
		for _, recall := range []string{"r", "1r", "r2"} {
			n := ranking.Chance(tenant, recall).Uint64()
			if other, ok := seen[n]; ok {
				t.Errorf("%s of %s draws as %s", recall, tenant, other)
			}
			if seen[n] = recall + " of " + tenant; n != ranking.Chance(tenant, recall).Uint64() {
				t.Errorf("%s draws twice differently", seen[n])
			}
		}
	}
}

// TestWhatIsTriedCountsByItsPropensity checks that the gradient of a trace is proportional to the inverse of the
// propensity. Its mean over the draws then equals the mean of even draws.
func TestWhatIsTriedCountsByItsPropensity(t *testing.T) {
	s, start := ranking.DefaultSettings(), ranking.Weights{FeatureSet: set, W: start()}
	for seed := range uint64(5) {
		tr := tried(t, 10*seed)
		even := tr
		even.Tried.Propensity = 1 / float32(tr.Tried.Of)
		pending := func(tr ranking.Trace) []float32 {
			state, _, err := s.Learn(ranking.NewState(start), start, tr, ids(tr), ids(tr)[3:])
			if err != nil {
				t.Fatal(err)
			}
			return state.Pending.W
		}
		got, want := pending(tr), pending(even)
		by := 1 / (float64(tr.Tried.Of) * float64(tr.Tried.Propensity))
		for i := range got {
			if math.Abs(float64(got[i])-by*float64(want[i])) > 1e-5 {
				t.Errorf("propensity %v of %d: gradient %v, want %v times %v", tr.Tried.Propensity, tr.Tried.Of, got, by, want)
			}
		}
		unseen := tr // the profile left out the tried memory: the rest teaches as ever
		unseen.Tried = ranking.Tried{}
		a, _, err1 := s.Learn(ranking.NewState(start), start, tr, ids(tr)[:3], ids(tr)[:1])
		b, _, err2 := s.Learn(ranking.NewState(start), start, unseen, ids(tr)[:3], ids(tr)[:1])
		if err1 != nil || err2 != nil || !slices.Equal(a.Pending.W, b.Pending.W) {
			t.Errorf("got %v, %v, want %v, %v", a.Pending.W, err1, b.Pending.W, err2)
		}
	}
}

// hidden is a query with one in four candidates of a kind that the prior ranks after all others.
func hidden(n int) (tr ranking.Trace, useful string) {
	random := source(uint64(n))
	tr = ranking.Trace{RecallID: fmt.Sprint("r", n), FeatureSet: set}
	best := -1.0
	for i := range 12 {
		kind, words := float32(i%4/3), random.Float32()
		tr.Candidates = append(tr.Candidates, ranking.Candidate{ID: fmt.Sprint("m", i), Features: []float32{words, kind}})
		if worth := float64(words) + 0.1*float64(kind); worth > best {
			best, useful = worth, tr.Candidates[i].ID
		}
	}
	return tr, useful
}

// TestExplorationFindsWhatThePriorHides checks that a kind of memory that the prior never shows is learned with
// exploration alone.
func TestExplorationFindsWhatThePriorHides(t *testing.T) {
	s, prior := ranking.DefaultSettings(), ranking.Weights{FeatureSet: set, W: []float32{3, -4},
		FeatureScale: []float32{0.3, 0.4}}
	s.FeatureRadius = 2
	found := func(share float64) (before, after int) {
		state := ranking.NewState(prior)
		for n := range 4000 {
			tr, useful := hidden(n)
			scores, err := state.Weights.Scores(nil, tr.Candidates)
			if err != nil {
				t.Fatal(err)
			}
			tr.Shown = ranking.Top(tr.Candidates, scores, 5)
			shown := slices.Contains(ids(tr), useful)
			if shown && n < 400 {
				before++
			}
			if shown && n >= 3600 {
				after++
			}
			if chance := ranking.Chance("acme", tr.RecallID); chance.Float64() < share {
				tr.Shown, tr.Tried = s.Try(chance, scores, tr.Shown)
			}
			var cited []string
			if slices.Contains(ids(tr), useful) {
				cited = []string{useful}
			}
			if state, _, err = s.Learn(state, prior, tr, ids(tr), cited); err != nil {
				t.Fatal(err)
			}
		}
		return before, after
	}
	_, without := found(0)
	before, with := found(0.1)
	t.Logf("of 400, %d at first, %d at last without exploration and %d with it", before, without, with)
	if with < without+40 {
		t.Errorf("of 400 recalls %d show what is useful after exploration, and %d without", with, without)
	}
}

func TestTracesRefuseWhatWasNotTried(t *testing.T) {
	for field, breaks := range map[string]func(*ranking.Tried){
		"tried.place":      func(x *ranking.Tried) { x.Place = 5 },
		"tried.of":         func(x *ranking.Tried) { x.Of = 0 },
		"tried.propensity": func(x *ranking.Tried) { x.Propensity /= 100 },
	} {
		tr := tried(t, 2)
		breaks(&tr.Tried)
		wantField(t, tr.Validate(), field)
	}
	tr := tried(t, 2)
	tr.Tried.Propensity = float32(math.NaN())
	wantField(t, tr.Validate(), "tried.propensity")
}

func TestATriedPlaceIsKeptInTheTrace(t *testing.T) {
	tr := tried(t, 4)
	b, err := ranking.EncodeTrace(tr)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ranking.DecodeTrace(b); err != nil || got.Tried != tr.Tried || got.Tried.Place != 4 {
		t.Errorf("decoded %+v, %v, want %+v", got.Tried, err, tr.Tried)
	}
	for n := range b {
		if _, err := ranking.DecodeTrace(b[:n]); err == nil {
			t.Errorf("%d of %d bytes are taken", n, len(b))
		}
	}
}
