package supervised_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/lab/supervised"
	"github.com/mneme-memory/mneme/shared/ranking"
)

// width is the dimension of the embeddings of bent examples.
const width = 4

// bent are queries with two relevant candidates: the best two by hidden weights and hidden maps.
func bent(n int) []supervised.Example {
	random := source(5)
	truth := ranking.Weights{W: []float32{1, 0.5, 0, -0.25}, Aq: make([]float32, width*width),
		Am: make([]float32, width*width)}
	for i := range width {
		truth.Aq[i*width+(i+1)%width] = 2 // the next number of the query is what counts
	}
	out := make([]supervised.Example, n)
	for i := range out {
		tr := trace(random, 12, 4, width)
		e := supervised.Example{Query: tr.Query, Relevant: make([]bool, 12)}
		for _, c := range tr.Candidates {
			e.Features, e.Cosine, e.Projected = append(e.Features, c.Features), append(e.Cosine, c.Cosine),
				append(e.Projected, c.Projected)
		}
		scores, _ := truth.Scores(tr.Query, tr.Candidates)
		for _, j := range ranking.Top(tr.Candidates, scores, 2) {
			e.Relevant[j] = true
		}
		out[i] = e
	}
	return out
}

func candidatesOf(e supervised.Example) []ranking.Candidate {
	out := make([]ranking.Candidate, len(e.Features))
	for i := range out {
		out[i] = ranking.Candidate{Features: e.Features[i], Cosine: e.Cosine[i], Projected: e.Projected[i]}
	}
	return out
}

// foundOf is the share of relevant candidates among as many best ones.
func foundOf(t *testing.T, w ranking.Weights, es []supervised.Example) float64 {
	t.Helper()
	hits := 0
	for _, e := range es {
		candidates := candidatesOf(e)
		scores, err := w.Scores(e.Query, candidates)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range ranking.Top(candidates, scores, 2) {
			if e.Relevant[i] {
				hits++
			}
		}
	}
	return float64(hits) / float64(2*len(es))
}

func refit(t *testing.T, es []supervised.Example, o supervised.RefitOptions) ranking.Weights {
	t.Helper()
	w, err := supervised.Refit(t.Context(), prior(), es, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestRefitFindsTheMaps(t *testing.T) {
	es, o := bent(600), supervised.DefaultRefitOptions()
	with := refit(t, es[:500], o)
	o.MapPull = 0
	without := refit(t, es[:500], o)
	if len(with.Aq) != width*width || len(without.Aq) != 0 || with.FeatureSet != set || with.Version != 0 {
		t.Fatalf("maps of %d and %d cells, version %d of %s", len(with.Aq), len(without.Aq), with.Version, with.FeatureSet)
	}
	if on, off := foundOf(t, with, es[500:]), foundOf(t, without, es[500:]); on < 0.85 || on < off+0.1 {
		t.Errorf("%.3f of the relevant candidates of new queries are found with maps, %.3f without", on, off)
	}
}

// TestRefitEndsWhereTheObjectiveIsLeast compares the objective, in a plain form, with its values at nearby points.
func TestRefitEndsWhereTheObjectiveIsLeast(t *testing.T) {
	es, o, from := bent(40), supervised.DefaultRefitOptions(), prior()
	o.Pull, o.MapPull, o.Precision = 3, 5, 1e-6
	w := refit(t, es, o)
	objective := func() float64 {
		loss := 0.0
		for k, x := range w.W {
			at := (float64(x) - float64(from.W[k])) * float64(w.FeatureScale[k])
			loss += o.Pull / 2 * at * at
		}
		for _, cell := range slices.Concat(w.Aq, w.Am) {
			loss += o.MapPull / 2 * float64(cell) * float64(cell)
		}
		for _, e := range es {
			scores, err := w.Scores(e.Query, candidatesOf(e))
			if err != nil {
				t.Fatal(err)
			}
			for i, relevant := range e.Relevant {
				if relevant {
					loss -= logProbabilities(scores, []int{i}, o.Temperature)[0] / 2
				}
			}
		}
		return loss
	}
	least := objective()
	for _, parameters := range [][]float32{w.W, w.Aq, w.Am} {
		for k := range parameters {
			for _, by := range []float32{-0.01, 0.01} {
				before := parameters[k]
				parameters[k] += by
				if beside := objective(); beside < least {
					t.Errorf("%.6f with parameter %d moved by %v, %.6f where it ended", beside, k, by, least)
				}
				parameters[k] = before
			}
		}
	}
}

func TestRefitStaysAtThePriorWhereNothingTellsOtherwise(t *testing.T) {
	es, o := bent(1), supervised.DefaultRefitOptions()
	for i := range es[0].Features {
		es[0].Features[i][1] = 7 // does not vary
	}
	o.Pull, o.MapPull = 1e6, 1e6
	w := refit(t, es, o)
	if d := w.Distance(prior()); d > 1e-3 || w.W[1] != prior().W[1] || w.FeatureScale[1] != prior().FeatureScale[1] {
		t.Errorf("%v in scales %v is %g from the prior", w.W, w.FeatureScale, d)
	}
}

func TestRefitRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		breaks func([]supervised.Example, *supervised.RefitOptions)
		field  string
	}{
		"too few vectors": {func(es []supervised.Example, _ *supervised.RefitOptions) {
			es[1].Projected = es[1].Projected[1:]
		}, "projected"},
		"a vector of another embedder": {func(es []supervised.Example, _ *supervised.RefitOptions) {
			es[1].Projected[2] = es[1].Projected[2][1:]
		}, "candidates.vector"},
		"queries of two embedders": {func(es []supervised.Example, _ *supervised.RefitOptions) {
			es[1].Query, es[1].Projected = es[1].Query[1:], nil
		}, "query"},
		"another number of features": {func(es []supervised.Example, _ *supervised.RefitOptions) {
			for _, e := range es {
				for i := range e.Features {
					e.Features[i] = e.Features[i][1:]
				}
			}
		}, "prior"},
		"nothing to learn": {func(es []supervised.Example, _ *supervised.RefitOptions) {
			es[0].Relevant, es[1].Relevant = make([]bool, 12), make([]bool, 12)
		}, "examples"},
		"no pull":       {func(_ []supervised.Example, o *supervised.RefitOptions) { o.Pull = 0 }, "pull"},
		"a push":        {func(_ []supervised.Example, o *supervised.RefitOptions) { o.MapPull = -1 }, "map_pull"},
		"no precision":  {func(_ []supervised.Example, o *supervised.RefitOptions) { o.Precision = 0 }, "precision"},
		"a temperature": {func(_ []supervised.Example, o *supervised.RefitOptions) { o.Temperature = 0 }, "temperature"},
	} {
		t.Run(name, func(t *testing.T) {
			es, o := bent(2), supervised.DefaultRefitOptions()
			tt.breaks(es, &o)
			_, err := supervised.Refit(t.Context(), prior(), es, o)
			wantField(t, err, tt.field)
		})
	}
}

func TestRefitStopsWhenItsContextDoes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := supervised.Refit(ctx, prior(), bent(2), supervised.DefaultRefitOptions()); !errors.Is(err,
		context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// An example may have the memories' projected embeddings and not its query's: then it teaches the features alone.
func TestRefitTakesExamplesWithoutAQuery(t *testing.T) {
	one := supervised.Example{
		Features: [][]float32{{1}, {0}}, Cosine: []float32{0, 0}, Relevant: []bool{true, false},
		Projected: [][]float32{{1, 0}, {0, 1}},
	}
	for _, pull := range []float64{0, 1} {
		o := supervised.DefaultRefitOptions()
		o.MapPull = pull
		start := ranking.Weights{FeatureSet: "x", W: make([]float32, 1)}
		if _, err := supervised.Refit(t.Context(), start, []supervised.Example{one, one}, o); err != nil {
			t.Errorf("pull %v: %v", pull, err)
		}
	}
}
