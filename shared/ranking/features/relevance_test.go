package features_test

import (
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/shared/ranking/features"
)

func TestHardlyNeededIsWhatIsFarLessLikely(t *testing.T) {
	r, err := features.ShippedRelevance()
	if err != nil {
		t.Fatal(err)
	}
	with := func(cosines ...float32) []features.Candidate {
		out := make([]features.Candidate, len(cosines))
		for i := range out {
			out[i] = features.Candidate{Features: make([]float32, len(features.Names())), Cosine: cosines[i]}
		}
		return out
	}
	for name, tt := range map[string]struct {
		candidates []features.Candidate
		all        int
		floor      float64
		want       []bool
	}{
		"far behind the likeliest":           {with(-2, 1, 0.9), 3, 0.15, []bool{true, false, false}},
		"the same, where all score more":     {with(-1, 2, 1.9), 3, 0.15, []bool{true, false, false}},
		"no floor":                           {with(-2, 1, 0.9), 3, 0, []bool{false, false, false}},
		"alike":                              {with(0.1, 0.1, 0.1), 3, 0.15, []bool{false, false, false}},
		"small, but all together are likely": {with(-1, 1, -1, -1, -1, -1, -1, -1, -1, -1), 300, 0.15, make([]bool, 10)},
		"nothing":                            {nil, 0, 0.15, []bool{}},
	} {
		if got := r.HardlyNeeded(tt.candidates, tt.all, tt.floor); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}
