package ranking

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/mneme-memory/mneme/shared/fault"
)

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
