package supervised_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/ranking"
)

// set is the feature set of the tests.
const set = "test/1"

// prior returns weights to start from.
func prior() ranking.Weights {
	return ranking.Weights{FeatureSet: set, W: []float32{1, 0.5, 0, -0.25}, FeatureScale: []float32{1, 2, 0.5, 0.25}}
}

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// grid draws n numbers of about unit size that float32 holds with room for a small exact change.
func grid(random *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(random.IntN(2049)-1024) / 1024
	}
	return out
}

// trace makes a decision over n candidates with vectors of a width.
func trace(random *rand.Rand, n, features, width int) ranking.Trace {
	t := ranking.Trace{RecallID: "recall-1", FeatureSet: set, Explored: true, Query: grid(random, width)}
	for i := range n {
		t.Candidates = append(t.Candidates, ranking.Candidate{
			ID: fmt.Sprintf("m%03d", i), Features: grid(random, features), Projected: grid(random, width),
			Cosine: float32(random.IntN(100)) / 100,
		})
	}
	return t
}

// logProbabilities returns the logarithm of the Plackett-Luce probability for each place of an order: of taking that
// candidate among the remaining ones.
func logProbabilities(scores []float64, order []int, temperature float64) []float64 {
	out, left := make([]float64, len(order)), slices.Clone(scores)
	for i, s := range scores {
		left[i] = s / temperature
	}
	for place, taken := range order {
		out[place] = left[taken] - floats.LogSumExp(left)
		left[taken] = math.Inf(-1)
	}
	return out
}

// wantField fails unless err is a terminal error about a field.
func wantField(t *testing.T, err error, field string) {
	t.Helper()
	if !fault.IsTerminal(err) || fault.Field(err) != field {
		t.Errorf("got error %v about %q, want a terminal one about %q", err, fault.Field(err), field)
	}
}
