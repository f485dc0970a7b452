package supervised_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/mneme-memory/mneme/lab/supervised"
	"github.com/mneme-memory/mneme/shared/ranking"
)

// examples are queries whose two best candidates by hidden weights are relevant. The features have different scales,
// and the last does not vary within a query.
func examples(n int) []example {
	random := source(9)
	truth := ranking.Weights{W: []float32{0.02, 1, 0, -30, 0}}
	out := make([]example, n)
	for i := range out {
		tr := trace(random, 12, 5, 0)
		e := example{Relevant: make([]bool, 12)}
		for j := range tr.Candidates {
			c := &tr.Candidates[j]
			c.Features[0] *= 100
			c.Features[3] /= 100
			c.Features[4] = float32(i)
			e.Features, e.Cosine = append(e.Features, c.Features), append(e.Cosine, c.Cosine)
		}
		scores, _ := truth.Scores(nil, tr.Candidates)
		for _, j := range ranking.Top(tr.Candidates, scores, 2) {
			e.Relevant[j] = true
		}
		out[i] = e
	}
	return out
}

// example is one with its candidates.
type example supervised.Example

func (e example) candidates() []ranking.Candidate {
	out := make([]ranking.Candidate, len(e.Features))
	for i := range out {
		out[i] = ranking.Candidate{ID: string(rune('a' + i)), Features: e.Features[i], Cosine: e.Cosine[i]}
	}
	return out
}

func plain(es []example) []supervised.Example {
	out := make([]supervised.Example, len(es))
	for i, e := range es {
		out[i] = supervised.Example(e)
	}
	return out
}

func pretrain(t testing.TB, es []example, o supervised.PretrainOptions) ranking.Weights {
	t.Helper()
	w, err := supervised.Pretrain(t.Context(), plain(es), o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// right is the share of relevant candidates among as many best ones.
func right(t *testing.T, w ranking.Weights, es []example) float64 {
	t.Helper()
	hits, all := 0, 0
	for _, e := range es {
		candidates := e.candidates()
		scores, err := w.Scores(nil, candidates)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range ranking.Top(candidates, scores, 2) {
			all++
			if e.Relevant[i] {
				hits++
			}
		}
	}
	return float64(hits) / float64(all)
}

func TestPretrainFindsTheWeights(t *testing.T) {
	es := examples(400)
	w := pretrain(t, es[:300], supervised.DefaultPretrainOptions(set))
	if w.FeatureSet != set || w.Version != 0 || len(w.Aq) != 0 {
		t.Errorf("got version %d of %q with %d cells", w.Version, w.FeatureSet, len(w.Aq))
	}
	if share := right(t, w, es[300:]); share < 0.95 {
		t.Errorf("%.3f of the relevant candidates of new queries are found with %v", share, w.W)
	}
	if w.W[4] != 0 || w.FeatureScale[4] != 1 {
		t.Errorf("what cannot order candidates has weight %v in scale %v", w.W[4], w.FeatureScale[4])
	}
	if w.FeatureScale[0] < 40 || w.FeatureScale[0] > 80 || w.FeatureScale[3] > 0.01 {
		t.Errorf("scales are %v", w.FeatureScale)
	}
}

// TestPretrainEndsWhereTheObjectiveIsLeast compares the objective, in a plain form, with its values at nearby points.
func TestPretrainEndsWhereTheObjectiveIsLeast(t *testing.T) {
	es, o := examples(60), supervised.DefaultPretrainOptions(set)
	o.L2 = 0.1
	w := pretrain(t, es, o)
	objective := func() float64 {
		loss := 0.0
		for k, x := range w.W {
			at := float64(x) * float64(w.FeatureScale[k])
			loss += o.L2 / 2 * at * at
		}
		for _, e := range es {
			scores, err := w.Scores(nil, e.candidates())
			if err != nil {
				t.Fatal(err)
			}
			for i, relevant := range e.Relevant {
				if relevant {
					loss -= logProbabilities(scores, []int{i}, o.Temperature)[0] / 2 / float64(len(es))
				}
			}
		}
		return loss
	}
	least := objective()
	for k := range w.W[:4] {
		for _, by := range []float32{-0.01, 0.01} {
			before := w.W[k]
			w.W[k] += by / w.FeatureScale[k]
			if beside := objective(); beside <= least {
				t.Errorf("the objective is %.9f, and %.9f with feature %d moved by %v", least, beside, k, by)
			}
			w.W[k] = before
		}
	}
}

func TestPretrainRefuses(t *testing.T) {
	nan := float32(math.NaN())
	for name, tt := range map[string]struct {
		breaks func([]example, *supervised.PretrainOptions)
		field  string
	}{
		"too few marks": {func(es []example, _ *supervised.PretrainOptions) {
			es[1].Relevant = es[1].Relevant[1:]
		}, "relevant"},
		"a feature that is no number": {func(es []example, _ *supervised.PretrainOptions) {
			es[1].Features[3][0] = nan
		}, "candidates.features"},
		"another number of features": {func(es []example, _ *supervised.PretrainOptions) {
			for i := range es[1].Features {
				es[1].Features[i] = es[1].Features[i][1:]
			}
		}, "candidates.features"},
		"nothing to learn": {func(es []example, _ *supervised.PretrainOptions) {
			es[0].Relevant, es[1].Relevant = make([]bool, 12), make([]bool, 12)
		}, "examples"},
		"no pull":        {func(_ []example, o *supervised.PretrainOptions) { o.L2 = 0 }, "l2"},
		"no temperature": {func(_ []example, o *supervised.PretrainOptions) { o.Temperature = 0 }, "temperature"},
		"no precision":   {func(_ []example, o *supervised.PretrainOptions) { o.Precision = 0 }, "precision"},
	} {
		t.Run(name, func(t *testing.T) {
			es, o := examples(2), supervised.DefaultPretrainOptions(set)
			tt.breaks(es, &o)
			_, err := supervised.Pretrain(t.Context(), plain(es), o)
			wantField(t, err, tt.field)
		})
	}
}

func TestPretrainStopsWhenItsContextDoes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := supervised.Pretrain(ctx, plain(examples(2)), supervised.DefaultPretrainOptions(set)); !errors.Is(err,
		context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A feature that may not be negative has weight 0 where the examples would make it negative, and the others are fitted
// without it.
func TestNoNegativeWeights(t *testing.T) {
	o := supervised.DefaultPretrainOptions("test/1")
	free := pretrain(t, examples(200), o)
	o.NotNegative = []int{0, 3}
	bounded := pretrain(t, examples(200), o)
	if free.W[3] >= 0 || bounded.W[3] != 0 || bounded.W[0] <= 0 || bounded.W[1] <= 0 {
		t.Errorf("free %v, bounded %v", free.W, bounded.W)
	}
	o.NotNegative = []int{5}
	_, err := supervised.Pretrain(t.Context(), plain(examples(2)), o)
	wantField(t, err, "not_negative")
}
