package ranking_test

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

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// grid draws n numbers of about unit size that float32 holds with room for a small exact change.
func grid(random *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(random.IntN(2049)-1024) / 1024
	}
	return out
}

// scaled divides numbers.
func scaled(v []float32, by float32) []float32 {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = x / by
	}
	return out
}

// trace makes a decision over n candidates with vectors of a width; the first chosen places are shuffled ones.
func trace(random *rand.Rand, n, features, width, chosen int) ranking.Trace {
	t := ranking.Trace{RecallID: "recall-1", FeatureSet: set, Explored: true, Query: grid(random, width)}
	for i := range n {
		t.Candidates = append(t.Candidates, ranking.Candidate{
			ID: fmt.Sprintf("m%03d", i), Features: grid(random, features), Projected: grid(random, width),
			Cosine: float32(random.IntN(100)) / 100,
		})
	}
	t.Shown = random.Perm(n)[:chosen]
	return t
}

// ids names the chosen memories of a trace.
func ids(t ranking.Trace) []string {
	out := make([]string, len(t.Shown))
	for i, c := range t.Shown {
		out[i] = t.Candidates[c].ID
	}
	return out
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
