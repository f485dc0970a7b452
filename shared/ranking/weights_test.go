package ranking_test

import (
	"errors"
	"math"
	"testing"

	"github.com/mneme-memory/mneme/shared/ranking"
)

// full maps a vector by v + P^T A P v, with P given by its columns.
func full(columns [][]float32, a []float32, v []float32) []float64 {
	rank := len(columns[0])
	short := make([]float64, rank)
	for j, x := range v {
		for i := range short {
			short[i] += float64(columns[j][i]) * float64(x)
		}
	}
	out := make([]float64, len(v))
	for j := range v {
		out[j] = float64(v[j])
		for i := range rank {
			for k := range rank {
				out[j] += float64(columns[j][i]) * float64(a[i*rank+k]) * short[k]
			}
		}
	}
	return out
}

func inner(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// TestScoresAreThoseOfTheFullSpace computes q'.m' + w.f as the paper writes it, without any projection of the vectors.
func TestScoresAreThoseOfTheFullSpace(t *testing.T) {
	for _, dimension := range []int{5, 64, 65, 100, 256} {
		random, p := source(uint64(dimension)), ranking.NewProjector()
		var columns [][]float32
		for j := range dimension {
			unit := make([]float32, dimension)
			unit[j] = 1
			columns = append(columns, p.Project(unit))
		}
		rank := len(columns[0])
		w := ranking.Weights{W: grid(random, 3), Aq: scaled(grid(random, rank*rank), 8),
			Am: scaled(grid(random, rank*rank), 8)}
		q, m, f := scaled(grid(random, dimension), 16), scaled(grid(random, dimension), 16), grid(random, 3)
		cosine, want := 0.0, 0.0
		for i := range q {
			cosine += float64(q[i]) * float64(m[i])
		}
		for i := range f {
			want += float64(w.W[i]) * float64(f[i])
		}
		want += inner(full(columns, w.Aq, q), full(columns, w.Am, m))
		scores, err := w.Scores(p.Project(q), []ranking.Candidate{{Features: f, Projected: p.Project(m),
			Cosine: float32(cosine)}})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(scores[0]-want) > 1e-4 {
			t.Errorf("dimension %d: score is %.7f, want %.7f", dimension, scores[0], want)
		}
	}
}

func TestScoresWithoutMaps(t *testing.T) {
	w := ranking.Weights{W: []float32{2, -1}}
	scores, err := w.Scores([]float32{1, 2}, []ranking.Candidate{
		{Features: []float32{1, 0}, Projected: []float32{5, 5}, Cosine: 0.25}, {Features: []float32{0, 3}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if scores[0] != 2.25 || scores[1] != -3 {
		t.Errorf("got %v, want 2.25 and -3", scores)
	}
}

func TestScoresRefuse(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	mapped := ranking.Weights{W: []float32{1}, Aq: make([]float32, 4), Am: make([]float32, 4)}
	for name, tt := range map[string]struct {
		query     []float32
		candidate ranking.Candidate
		field     string
	}{
		"a feature that is no number": {nil, ranking.Candidate{Features: []float32{nan}}, "candidates.features"},
		"too few features":            {nil, ranking.Candidate{}, "candidates.features"},
		"too many features":           {nil, ranking.Candidate{Features: []float32{1, 2}}, "candidates.features"},
		"an endless vector": {
			[]float32{1, 2}, ranking.Candidate{Features: []float32{1}, Projected: []float32{1, inf}}, "candidates.vector",
		},
		"a vector of another length": {[]float32{1, 2}, ranking.Candidate{Features: []float32{1}, Projected: []float32{1}},
			"candidates.vector"},
		"an endless cosine":        {nil, ranking.Candidate{Features: []float32{1}, Cosine: -inf}, "candidates.cosine"},
		"an endless query":         {[]float32{inf, 0}, ranking.Candidate{Features: []float32{1}}, "query"},
		"a query of another rank":  {[]float32{1, 0, 0}, ranking.Candidate{Features: []float32{1}}, "query"},
		"a query that is too long": {make([]float32, 65), ranking.Candidate{Features: []float32{1}}, "query"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := mapped.Scores(tt.query, []ranking.Candidate{tt.candidate})
			wantField(t, err, tt.field)
		})
	}
	_, err := mapped.Scores(nil, make([]ranking.Candidate, ranking.MaxCandidates+1))
	wantField(t, err, "candidates")
	_, err = mapped.Scores(nil, make([]ranking.Candidate, 1))
	if !errors.Is(err, ranking.ErrFeatureSet) {
		t.Errorf("another number of features gives %v, want ErrFeatureSet", err)
	}
}

func TestWeightsRefuse(t *testing.T) {
	nan := float32(math.NaN())
	for field, w := range map[string]ranking.Weights{
		"feature_set":   {FeatureSet: string(make([]byte, ranking.MaxIDBytes+1))},
		"w":             {W: []float32{nan}},
		"feature_scale": {W: []float32{1, 2}, FeatureScale: []float32{1}},
		"aq":            {Aq: []float32{1, 2}, Am: []float32{1, 2}},
		"am":            {Aq: []float32{1}},
	} {
		wantField(t, w.Validate(), field)
	}
	for _, scale := range []float32{0, -1, nan, 1e30} {
		wantField(t, ranking.Weights{W: []float32{1}, FeatureScale: []float32{scale}}.Validate(), "feature_scale")
	}
	wantField(t, ranking.Weights{W: make([]float32, ranking.MaxFeatures+1)}.Validate(), "w")
	wantField(t, ranking.Weights{Aq: make([]float32, 65*65), Am: make([]float32, 65*65)}.Validate(), "aq")
	wantField(t, ranking.Weights{Aq: []float32{nan}, Am: []float32{0}}.Validate(), "aq")
}

func TestDistanceCountsFeaturesInTheirScales(t *testing.T) {
	prior := ranking.Weights{W: []float32{1, 1}, FeatureScale: []float32{0.5, 2}}
	w := ranking.Weights{W: []float32{7, 3}, Aq: []float32{12}, Am: []float32{0}}
	if got := w.Distance(prior); got != 13 { // 3, 4 and 12
		t.Errorf("distance is %v, want 13", got)
	}
}
