package ranking_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mneme-memory/mneme/shared/ranking"
)

// spread is the order of candidates after Spread.
func spread(candidates []ranking.Candidate, scores []float64, groups []uint32) []int {
	candidates, left := slices.Clone(candidates), slices.Clone(scores)
	ranking.Spread(candidates, left, groups, ranking.DefaultSpread)
	return ranking.Top(candidates, left, len(candidates))
}

func named(n int) []ranking.Candidate {
	out := make([]ranking.Candidate, n)
	for i := range out {
		out[i].ID = fmt.Sprintf("m%03d", i)
	}
	return out
}

func TestSpreadGivesPlacesToSeveralGroups(t *testing.T) {
	scores := []float64{3, 2.9, 2.8, 2.75, 2.7, 1}
	for name, tt := range map[string]struct {
		groups []uint32
		want   []int
	}{
		"one group keeps its order":               {[]uint32{4, 4, 4, 4, 4, 4}, []int{0, 1, 2, 3, 4, 5}},
		"without groups, all keep theirs":         {[]uint32{0, 0, 0, 0, 0, 0}, []int{0, 1, 2, 3, 4, 5}},
		"groups of one keep theirs":               {[]uint32{1, 2, 3, 4, 5, 6}, []int{0, 1, 2, 3, 4, 5}},
		"another group comes before more of one":  {[]uint32{1, 1, 1, 1, 2, 3}, []int{0, 4, 1, 2, 3, 5}},
		"but not what is far from answering":      {[]uint32{1, 1, 1, 1, 1, 2}, []int{0, 1, 2, 3, 4, 5}},
		"what is in no group is taken nothing of": {[]uint32{1, 1, 1, 0, 0, 3}, []int{0, 3, 4, 1, 2, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := spread(named(len(scores)), scores, tt.groups); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// For any groups, the best stays first and each group keeps its order. No deduction exceeds the limit of the depth.
func TestSpreadKeepsTheOrderWithinGroups(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var scores []float64
		for _, n := range rapid.SliceOfN(rapid.IntRange(-50, 50), 1, 60).Draw(rt, "tenths") {
			scores = append(scores, float64(n)/10)
		}
		groups := rapid.SliceOfN(rapid.Uint32Range(0, 5), len(scores), len(scores)).Draw(rt, "groups")
		candidates := named(len(scores))
		before, after := ranking.Top(candidates, scores, len(scores)), spread(candidates, scores, groups)
		if after[0] != before[0] {
			rt.Fatalf("%d is first, want %d", after[0], before[0])
		}
		for g := range uint32(6) {
			others := func(i int) bool { return groups[i] != g }
			want, got := slices.DeleteFunc(slices.Clone(before), others), slices.DeleteFunc(slices.Clone(after), others)
			if !slices.Equal(got, want) {
				rt.Fatalf("group %d is in order %v, want %v", g, got, want)
			}
		}
		left := slices.Clone(scores)
		if ranking.Spread(candidates, left, groups, 0); !slices.Equal(left, scores) {
			rt.Fatalf("nothing is to be spread, and %v becomes %v", scores, left)
		}
		ranking.Spread(candidates, left, groups, ranking.DefaultSpread)
		for i, c := range candidates {
			off := scores[i] - left[i]
			if off < 0 || off > 0.601 || groups[i] == 0 && off != 0 || math.Abs(off+float64(c.Cosine)) > 1e-6 {
				rt.Fatalf("%v is taken off candidate %d of group %d, and %v of its cosine", off, i, groups[i], -c.Cosine)
			}
		}
	})
}
