package ranking_test

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/ranking"
)

// prior makes weights of 4 features without maps.
func prior() ranking.Weights {
	return ranking.Weights{FeatureSet: set, W: []float32{1, 0.5, 0, -0.25}, FeatureScale: []float32{1, 2, 0.5, 0.25}}
}

func learn(
	t *testing.T, s ranking.Settings, state ranking.State, tr ranking.Trace, shown, cited []string,
) (ranking.State, ranking.Outcome) {
	t.Helper()
	next, outcome, err := s.Learn(state, prior(), tr, shown, cited)
	if err != nil {
		t.Fatal(err)
	}
	return next, outcome
}

// fisherOf is the covariance of the features, in units of their scales, under the softmax of the scores, over the
// squared temperature.
func fisherOf(t *testing.T, w ranking.Weights, tr ranking.Trace, temperature float64) [][]float64 {
	t.Helper()
	scores, err := w.Scores(tr.Query, tr.Candidates)
	if err != nil {
		t.Fatal(err)
	}
	p, sum, n := make([]float64, len(scores)), 0.0, len(w.W)
	for i, s := range scores {
		p[i] = math.Exp(s / temperature)
		sum += p[i]
	}
	mean, second := make([]float64, n), make([][]float64, n)
	for a := range second {
		second[a] = make([]float64, n)
	}
	for i, c := range tr.Candidates {
		for a := range n {
			x := float64(c.Features[a]) / float64(w.FeatureScale[a])
			mean[a] += p[i] / sum * x
			for b := range n {
				second[a][b] += p[i] / sum * x * float64(c.Features[b]) / float64(w.FeatureScale[b])
			}
		}
	}
	for a := range n {
		for b := range n {
			second[a][b] = (second[a][b] - mean[a]*mean[b]) / temperature / temperature
		}
	}
	return second
}

// TestFourTracesMakeAStep computes the update separately from the prior. The step d of the feature weights solves
// (1/rate + F) d = g. g is the mean of four gradients, and F the mean of four Fisher matrices. The maps go along their
// mean gradient.
func TestFourTracesMakeAStep(t *testing.T) {
	s, random, state := ranking.DefaultSettings(), source(2), ranking.NewState(prior())
	s.ClipNorm = 1000
	mean, wantMap := make([]float64, 4), make([]float64, 9)
	fisher := [4][4]float64{}
	for i := range 4 {
		tr := trace(random, 7, 4, 3, 3)
		named := ids(tr)
		g, err := prior().Gradient(tr, []float64{-1.5, 0.5, -1.5}, s.Temperature)
		if err != nil {
			t.Fatal(err)
		}
		for k, x := range g.W {
			mean[k] += x / 4 / float64(prior().FeatureScale[k])
		}
		for a, row := range fisherOf(t, prior(), tr, s.Temperature) {
			for b, x := range row {
				fisher[a][b] += x / 4
			}
		}
		for k, x := range g.Aq {
			wantMap[k] += s.LearningRate * x / 4
		}
		var outcome ranking.Outcome
		state, outcome = learn(t, s, state, tr, named, named[1:2])
		if outcome.Rewarded != 3 || outcome.Cited != 1 || outcome.Stale || outcome.Stepped != (i == 3) || outcome.Bounded {
			t.Errorf("outcome of trace %d is %+v", i, outcome)
		}
	}
	if state.Weights.Version != 1 || state.Learned != 4 || state.Pending.Count != 0 || state.Pending.W != nil {
		t.Errorf("state is of version %d, learned %d, pending %+v", state.Weights.Version, state.Learned, state.Pending)
	}
	var moved [4]float64
	for k := range moved {
		moved[k] = (float64(state.Weights.W[k]) - float64(prior().W[k])) * float64(prior().FeatureScale[k])
	}
	for k, want := range mean {
		got := moved[k] / s.FeatureRate
		for b, x := range fisher[k] {
			got += x * moved[b]
		}
		if math.Abs(got-want) > 1e-4 {
			t.Errorf("feature %d moved by %v, which makes a gradient of %v, want %v", k, moved[k], got, want)
		}
	}
	for k := range wantMap {
		if math.Abs(float64(state.Weights.Aq[k])-wantMap[k]) > 1e-8 {
			t.Errorf("aq[%d] is %v, want %v", k, state.Weights.Aq[k], wantMap[k])
		}
	}
}

func TestLearnLeavesItsInputAsItIs(t *testing.T) {
	s, random, state := ranking.DefaultSettings(), source(2), ranking.NewState(prior())
	for range 6 {
		before, err := ranking.EncodeState(state)
		if err != nil {
			t.Fatal(err)
		}
		tr := trace(random, 7, 4, 3, 3)
		next, _ := learn(t, s, state, tr, ids(tr), nil)
		after, err := ranking.EncodeState(state)
		if err != nil || !slices.Equal(before, after) {
			t.Fatalf("the state given was changed (%v)", err)
		}
		state = next
	}
}

func TestRewardsOfWhatWasShown(t *testing.T) {
	tr := trace(source(3), 6, 4, 0, 3)
	named := ids(tr)
	for name, tt := range map[string]struct {
		shown, cited []string
		advantages   []float64
		rewarded     int
	}{
		"all shown, none cited":     {named, nil, []float64{-1.5, -1.5, -1.5}, 3},
		"all cited":                 {named, named, []float64{0.5, 0.5, 0.5}, 3},
		"one of them left out":      {named[:2], named[:1], []float64{0.5, -1.5, 0}, 2},
		"strangers are passed over": {append([]string{"stranger"}, named[2]), []string{"stranger"}, []float64{0, 0, -1.5}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := ranking.DefaultSettings()
			s.ClipNorm = 1000
			state, outcome := learn(t, s, ranking.NewState(prior()), tr, tt.shown, tt.cited)
			g, err := prior().Gradient(tr, tt.advantages, s.Temperature)
			if err != nil {
				t.Fatal(err)
			}
			for k, x := range g.W {
				if want := x / float64(prior().FeatureScale[k]); math.Abs(float64(state.Pending.W[k])-want) > 1e-5 {
					t.Errorf("gathered %v by feature %d, want %v", state.Pending.W[k], k, want)
				}
			}
			if outcome.Rewarded != tt.rewarded || state.Pending.Count != 1 {
				t.Errorf("outcome %+v with %d pending", outcome, state.Pending.Count)
			}
		})
	}
}

// TestWhatWasNotDrawnGoesByWhatWasCited checks the gradient of a trace of the best by score. It is the gradient of the
// mean log probability of taking a cited memory first among the shown ones. The factor is the probability of taking
// any cited one.
func TestWhatWasNotDrawnGoesByWhatWasCited(t *testing.T) {
	tr := trace(source(3), 8, 4, 0, 4)
	tr.Explored = false
	named, s := ids(tr), ranking.DefaultSettings()
	s.ClipNorm = 1000
	for name, tt := range map[string]struct {
		shown, cited []string
		places       []int
	}{
		"one of four cited":  {named, named[1:2], []int{1}},
		"two of four cited":  {named, []string{named[0], named[3]}, []int{0, 3}},
		"one of two shown":   {named[:2], named[:1], []int{0}},
		"none cited":         {named, nil, nil},
		"all that was shown": {named[2:], named[2:], []int{2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			state, outcome := learn(t, s, ranking.NewState(prior()), tr, tt.shown, tt.cited)
			if outcome.Cited != len(tt.cited) || outcome.Rewarded != len(tt.shown) || state.Pending.Count != 1 {
				t.Errorf("outcome %+v with %d pending", outcome, state.Pending.Count)
			}
			want, expected := make([]float64, len(prior().W)), 0.0
			for _, place := range tt.places {
				first := tr
				first.Candidates = nil
				for i, id := range named {
					if !slices.Contains(tt.shown, id) {
						continue
					}
					if i == place {
						first.Shown = []int{len(first.Candidates)}
					}
					first.Candidates = append(first.Candidates, tr.Candidates[tr.Shown[i]])
				}
				scores, err := prior().Scores(first.Query, first.Candidates)
				if err != nil {
					t.Fatal(err)
				}
				expected += math.Exp(logProbabilities(scores, first.Shown, s.Temperature)[0])
				g, err := prior().Gradient(first, []float64{1 / float64(len(tt.places))}, s.Temperature)
				if err != nil {
					t.Fatal(err)
				}
				for k, x := range g.W {
					want[k] += x
				}
			}
			for k, x := range scaledBy(want, prior().FeatureScale) {
				if math.Abs(float64(state.Pending.W[k])-expected*float64(x)) > 1e-5 {
					t.Errorf("gathered %v by feature %d, want %v", state.Pending.W[k], k, expected*float64(x))
				}
			}
		})
	}
}

// scaledBy divides each by its scale.
func scaledBy(v []float64, scale []float32) []float32 {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x / float64(scale[i]))
	}
	return out
}

func TestNothingShownTeachesNothing(t *testing.T) {
	tr := trace(source(3), 6, 4, 0, 3)
	before := ranking.NewState(prior())
	for name, shown := range map[string][]string{"nothing": nil, "a stranger": {"stranger"}} {
		state, outcome := learn(t, ranking.DefaultSettings(), before, tr, shown, nil)
		if !reflect.DeepEqual(state, before) || outcome.Rewarded != 0 {
			t.Errorf("%s shown: state %+v, outcome %+v", name, state, outcome)
		}
	}
}

func TestStaleTracesAreTold(t *testing.T) {
	tr := trace(source(3), 6, 4, 0, 3)
	tr.WeightsVersion = 9
	if _, outcome := learn(t, ranking.DefaultSettings(), ranking.NewState(prior()), tr, ids(tr), nil); !outcome.Stale {
		t.Error("a trace of version 9 is not stale for version 0")
	}
}

func TestLearnRefuses(t *testing.T) {
	nan := float32(math.NaN())
	for name, tt := range map[string]struct {
		breaks  func(*ranking.Settings, *ranking.State, *ranking.Trace)
		cited   []string
		field   string
		another bool
	}{
		"a cited one not shown": {nil, []string{"m999"}, "cited_ids", false},
		"a trace of other features": {func(_ *ranking.Settings, _ *ranking.State, t *ranking.Trace) {
			t.FeatureSet = "other"
		}, nil, "trace.feature_set", true},
		"a state of other features": {func(_ *ranking.Settings, s *ranking.State, _ *ranking.Trace) {
			s.Weights.FeatureSet = "other"
		}, nil, "state.weights.feature_set", true},
		"features that are no number": {func(_ *ranking.Settings, _ *ranking.State, t *ranking.Trace) {
			t.Candidates[2].Features[1] = nan
		}, nil, "candidates.features", false},
		"a vector that is no number": {func(_ *ranking.Settings, _ *ranking.State, t *ranking.Trace) {
			t.Candidates[2].Projected[1] = nan
		}, nil, "candidates.vector", false},
		"weights that are no number": {func(_ *ranking.Settings, s *ranking.State, _ *ranking.Trace) {
			s.Weights.W[0] = nan
		}, nil, "w", false},
		"a sum that is no number": {func(_ *ranking.Settings, s *ranking.State, _ *ranking.Trace) {
			s.Pending.W = []float32{0, nan, 0, 0}
		}, nil, "w", false},
		"maps of another rank": {func(_ *ranking.Settings, s *ranking.State, _ *ranking.Trace) {
			s.Pending.Aq, s.Pending.Am = make([]float32, 16), make([]float32, 16)
		}, nil, "trace.query", false},
		"one shown twice": {func(_ *ranking.Settings, _ *ranking.State, t *ranking.Trace) {
			t.Shown[1] = t.Shown[0]
		}, nil, "shown", false},
		"bad settings": {func(s *ranking.Settings, _ *ranking.State, _ *ranking.Trace) {
			s.Temperature = 0
		}, nil, "temperature", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, state, tr := ranking.DefaultSettings(), ranking.NewState(prior()), trace(source(3), 6, 4, 3, 3)
			if tt.breaks != nil {
				tt.breaks(&s, &state, &tr)
			}
			_, _, err := s.Learn(state, prior(), tr, ids(tr), tt.cited)
			wantField(t, err, tt.field)
			if errors.Is(err, ranking.ErrFeatureSet) != tt.another {
				t.Errorf("%v: is ErrFeatureSet should be %t", err, tt.another)
			}
		})
	}
}

// TestLearnStaysFiniteAndNearThePrior feeds numbers of any size that single precision can hold.
func TestLearnStaysFiniteAndNearThePrior(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := func(n int) []float32 {
			return rapid.SliceOfN(rapid.OneOf(rapid.Float32Range(-1, 1), rapid.Float32()), n, n).Draw(t, "numbers")
		}
		p := ranking.Weights{FeatureSet: set, W: numbers(2),
			FeatureScale: []float32{rapid.Float32Range(1e-6, 1e6).Draw(t, "scale"), 1}}
		s := ranking.DefaultSettings()
		s.Batch, s.FeatureRate, s.LearningRate = 2, 1, 1
		s.Temperature = rapid.Float64Range(1e-3, 10).Draw(t, "temperature")
		state := ranking.NewState(p)
		for range 6 {
			tr := ranking.Trace{RecallID: "r", FeatureSet: set, Query: numbers(3), Shown: []int{2, 0},
				Explored: rapid.Bool().Draw(t, "explored")}
			for _, id := range []string{"a", "b", "c"} {
				tr.Candidates = append(tr.Candidates, ranking.Candidate{ID: id, Features: numbers(2), Projected: numbers(3),
					Cosine: numbers(1)[0]})
			}
			next, outcome, err := s.Learn(state, p, tr, []string{"c", "a"}, []string{"a"})
			if err != nil {
				t.Fatalf("finite numbers are refused: %v", err)
			}
			if err := next.Validate(); err != nil {
				t.Fatalf("state after it: %v", err)
			}
			if outcome.Distance-outcome.Distance != 0 || outcome.FeatureNorm-outcome.FeatureNorm != 0 ||
				outcome.MapNorm-outcome.MapNorm != 0 {
				t.Fatalf("outcome %+v", outcome)
			}
			state = next
		}
		if m := (ranking.Weights{Aq: state.Weights.Aq,
			Am: state.Weights.Am}).Distance(ranking.Weights{}); m > s.MapRadius*1.0001 {
			t.Errorf("maps are %v from the prior, want at most %v", m, s.MapRadius)
		}
	})
}

func TestTheTrustRegionHolds(t *testing.T) {
	s, random, state := ranking.DefaultSettings(), source(8), ranking.NewState(prior())
	s.FeatureRate, s.LearningRate, s.FeatureRadius, s.MapRadius = 1, 1, 0.25, 0.125
	bounded := 0
	for range 40 {
		tr := trace(random, 7, 4, 3, 3)
		var outcome ranking.Outcome
		state, outcome = learn(t, s, state, tr, ids(tr), ids(tr)[:1])
		if outcome.Bounded {
			bounded++
		}
		if most := math.Hypot(s.FeatureRadius, s.MapRadius); outcome.Distance > most*1.0001 {
			t.Fatalf("distance %v, want at most %v", outcome.Distance, most)
		}
	}
	if bounded == 0 || state.Weights.Version != 10 {
		t.Errorf("%d of %d steps were cut back", bounded, state.Weights.Version)
	}
	w := state.Weights
	w.Aq, w.Am = nil, nil
	if d := w.Distance(prior()); d > s.FeatureRadius*1.0001 {
		t.Errorf("feature weights are %v away, want at most %v", d, s.FeatureRadius)
	}
}

func TestOneTraceIsClipped(t *testing.T) {
	s, tr := ranking.DefaultSettings(), trace(source(3), 6, 4, 3, 3)
	s.ClipNorm = 0.01
	state, outcome := learn(t, s, ranking.NewState(prior()), tr, ids(tr), nil)
	gathered := ranking.Weights{W: state.Pending.W}.Distance(ranking.Weights{W: make([]float32, 4)})
	maps := ranking.Weights{Aq: state.Pending.Aq, Am: state.Pending.Am}.Distance(ranking.Weights{})
	if outcome.FeatureNorm <= s.ClipNorm || outcome.MapNorm <= s.ClipNorm || math.Abs(gathered-0.01) > 1e-6 ||
		math.Abs(maps-0.01) > 1e-6 {
		t.Errorf("outcome %+v, gathered %v and %v, want 0.01 of each", outcome, gathered, maps)
	}
}

func TestMapsCanBeLeftAlone(t *testing.T) {
	s, random, state := ranking.DefaultSettings(), source(8), ranking.NewState(prior())
	s.LearningRate = 0
	for range 4 {
		tr := trace(random, 7, 4, 3, 3)
		state, _ = learn(t, s, state, tr, ids(tr), ids(tr)[:1])
	}
	if state.Weights.Version != 1 || len(state.Weights.Aq) != 0 {
		t.Errorf("version %d with %d cells", state.Weights.Version, len(state.Weights.Aq))
	}
}
