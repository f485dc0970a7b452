package ranking

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/mneme-memory/mneme/shared/fault"
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

// Sample draws an order of k candidates to explore: the k largest of s/t + g, with t the temperature and g Gumbel
// noise (RMM, equation 2). That is a draw without replacement of the Plackett-Luce distribution over s/t, and Learn
// takes its gradient. RMM's text adds the noise before the division, so the order would not depend on the temperature;
// here it does.
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

// scoreGradient is the gradient, by the scores, of a sum over the places of an order. Each term is the advantage times
// the log probability of taking that candidate among the ones not taken before, which is Plackett-Luce. The order
// names candidates by place, each at most once.
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

const (
	// Related is the score by the shared prior from which a found memory more likely belongs to the query than to
	// something else. It was chosen on questions for another conversation (docs/recall.md).
	Related = 5.25
	// oddsPerScore is the change of the log odds with the score, as in the shipped model of relevance.
	oddsPerScore = 2.2575147
)

// Likelihood is the approximate chance, 0 to 1, that a memory with this score belongs to the query. It is measured for
// scores of the shared prior. Weights that a tenant learned change the scores, and Spread lowers a score for better
// candidates of the same session.
func Likelihood(score float64) float64 { return 1 / (1 + math.Exp(-oddsPerScore*(score-Related))) }

// DefaultSpread is the deduction for each better candidate of a group, and groupDepth is the number of them that
// count. Both were chosen by recall of synthetic questions that several turns answer (docs/recall.md). The listwise
// loss of the weights takes candidates one by one, and has no term for sets.
const (
	DefaultSpread = 0.2
	groupDepth    = 3
)

// Spread lowers scores so that the places go to several groups. Where a query needs more than one memory, a candidate
// next to a better one of its group adds less than an equal one from another group. Spread lowers the cosines by the
// same amount, so that a later scoring, to learn, has the same order. Group 0 has the candidates that compete with all
// others alike. Within a group, the order stays. discount is the deduction for each better candidate; 0 spreads
// nothing.
func Spread(candidates []Candidate, scores []float64, groups []uint32, discount float64) {
	better := map[uint32]int{}
	for _, i := range Top(candidates, scores, len(candidates)) {
		if g := groups[i]; g != 0 {
			off := float32(discount * float64(min(better[g], groupDepth)))
			candidates[i].Cosine -= off
			scores[i] -= float64(off)
			better[g]++
		}
	}
}

// Tried is a place of a candidate that explores. Without it the candidate would not be shown; citations can thus also
// judge such candidates.
type Tried struct {
	// Place is its place in the order, from 1. It is 0 if there was no exploration.
	Place int
	// Of is the number of candidates without a place, and Propensity the probability of drawing this one among them.
	Of         int
	Propensity float32
}

// evenly is the share of the draws in which every candidate without a place is as likely as any other. It bounds
// Tried.weight.
const evenly = 0.5

// Try gives the last place of an order to one of the candidates without a place, and returns its probability. Where
// all have a place, or there is no place, the order stays as it is. The draw is half by score, as Sample's first
// (softmax of the scores over the temperature), and half even. Candidates with low scores are therefore seen, too.
func (s Settings) Try(random *rand.Rand, scores []float64, order []int) ([]int, Tried) {
	placed := make([]bool, len(scores))
	for _, c := range order {
		placed[c] = true
	}
	var left []int
	var of []float64
	for c, score := range scores {
		if !placed[c] {
			left, of = append(left, c), append(of, score)
		}
	}
	if len(left) == 0 || len(order) == 0 {
		return order, Tried{}
	}
	at, propensities := 0, s.propensities(of)
	for rest := random.Float64(); at < len(left)-1; at++ {
		if rest -= propensities[at]; rest < 0 {
			break
		}
	}
	out := append(append([]int(nil), order[:len(order)-1]...), left[at])
	return out, Tried{Place: len(out), Of: len(left), Propensity: float32(propensities[at])}
}

// propensities are the probabilities by which Try draws.
func (s Settings) propensities(scores []float64) []float64 {
	out := softmax(scores, s.Temperature)
	for i, p := range out {
		out[i] = (1-evenly)*p + evenly/float64(len(out))
	}
	return out
}

// weight is the weight of a trace: the inverse of the propensity, in units of an even draw's. On average over the
// draws, every candidate without a place then counts alike. It is at most 1/evenly.
func (t Tried) weight() float64 { return 1 / (float64(t.Of) * float64(t.Propensity)) }

// validate checks a place in an order of so many.
func (t Tried) validate(shown int) error {
	switch {
	case t == Tried{}:
		return nil
	case t.Place < 1 || t.Place > shown:
		return fault.Terminal("tried.place", "is %d, want 1 to %d, or nothing tried", t.Place, shown)
	case t.Of < 1 || t.Of > MaxCandidates:
		return fault.Terminal("tried.of", "is %d, want 1 to %d", t.Of, MaxCandidates)
	case !(t.weight() > 0 && t.weight() <= (1+1e-6)/evenly && t.Propensity <= 1):
		return fault.Terminal("tried.propensity", "is %v of %d, want %v to 1", t.Propensity, t.Of, evenly/float64(t.Of))
	}
	return nil
}

// Chance returns the random source of a recall. It is the same for the same identifiers, so that a recall can be
// explained.
func Chance(tenant, recallID string) *rand.Rand {
	h := fnv.New128a()
	fmt.Fprintf(h, "%d %s%s", len(tenant), tenant, recallID) // writes to a hash do not fail
	sum := h.Sum(nil)
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]),
		binary.BigEndian.Uint64(sum[8:]))) //nolint:gosec // no secrets
}
