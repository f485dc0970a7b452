package ranking

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Top returns the places of the k best candidates, best first. Equal scores go by identifier, so that replicas agree.
func Top(candidates []Candidate, scores []float64, k int) []int {
	order := make([]int, len(candidates))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(candidates[a].ID, candidates[b].ID))
	})
	return order[:max(0, min(k, len(order)))]
}

// Sample draws an order of k candidates to explore. It takes the k largest of s/t + g, with t the temperature and g
// Gumbel noise (RMM, equation 2). That is a draw without replacement of the Plackett-Luce distribution over s/t.
// Learn uses the gradient of that distribution. RMM's text adds the noise before it divides. Then the order would
// not depend on the temperature. Here it does.
func (s Settings) Sample(random *rand.Rand, candidates []Candidate, scores []float64, k int) []int {
	perturbed := make([]float64, len(scores))
	for i, score := range scores {
		perturbed[i] = score/s.Temperature + gumbel(random)
	}
	return Top(candidates, perturbed, k)
}

// gumbel draws from the standard Gumbel distribution; the half keeps the uniform number off 0 and 1.
func gumbel(random *rand.Rand) float64 {
	u := (float64(random.Uint64()>>12) + 0.5) / (1 << 52)
	return -math.Log(-math.Log(u))
}

// scoreGradient is the gradient by the scores of a sum over the places of an order. The sum has advantage times the
// log probability of taking that candidate among the candidates not taken before, which is Plackett-Luce. The order
// names candidates by place, none twice.
func scoreGradient(scores []float64, order []int, advantages []float64, temperature float64) []float64 {
	out, left := make([]float64, len(scores)), slices.Clone(scores)
	for place, taken := range order {
		by := advantages[place] / temperature
		floats.AddScaled(out, -by, softmax(left, temperature))
		out[taken] += by
		left[taken] = math.Inf(-1)
	}
	return out
}
