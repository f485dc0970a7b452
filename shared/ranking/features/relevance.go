package features

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"

	"github.com/mneme-memory/mneme/shared/ranking"
)

// RelevanceSet is name and version of the numbers that RelevanceNames names.
const RelevanceSet = "relevance/1"

// RelevanceDepth is how many candidates relevance is read off; those behind them are taken to be as likely as the least likely of them.
const RelevanceDepth = SupportDepth

//go:embed relevance.json
var relevance []byte

// Relevance says how likely it is that a request of a user to an assistant needs what was found. It rests on the shared prior alone, so
// that it means the same whatever a tenant's own weights have become. It does not change, and is safe for concurrent use.
type Relevance struct {
	prior ranking.Weights
	model ranking.Weights
}

// ShippedRelevance is learned on dialogues with an assistant by `mneme-lab train relevance`, with the shipped prior that it rests on. See
// docs/reranker-model-card.md.
func ShippedRelevance() (Relevance, error) {
	prior, err := Prior()
	if err != nil {
		return Relevance{}, err
	}
	model, err := ranking.DecodePrior(relevance, RelevanceSet, RelevanceNames())
	if err != nil {
		return Relevance{}, fmt.Errorf("shipped relevance model: %w", err)
	}
	return Relevance{prior: prior.Weights, model: model.Weights}, nil
}

// RelevanceNames returns the names of RelevanceNumbers, in their order.
func RelevanceNames() []string { return []string{"score"} }

// RelevanceNumbers are what relevance is learned from: the score by the weights of Names.
func RelevanceNumbers(c Candidate, w ranking.Weights) []float32 {
	score := float64(c.Cosine)
	for f, v := range c.Features {
		score += float64(w.W[f]) * float64(v)
	}
	return []float32{float32(score)}
}

// random is the share of the chance of a memory drawn at random from which one is not hardly needed, whatever is left behind it: where a
// user told much, many are somewhat likely, and each counts.
const random = 0.5

// HardlyNeeded reports for each candidate whether it may be left out: the chance that what a request needs is that candidate, or one that
// is less likely still, comes to no more than the floor, 0 to 1, and its own to less than half that of one drawn at random. The candidates
// are the first of so many that there are.
func (r Relevance) HardlyNeeded(candidates []Candidate, all int, floor float64) []bool {
	out := make([]bool, len(candidates))
	if len(candidates) == 0 {
		return out
	}
	odds, order := make([]float64, len(candidates)), make([]int, len(candidates))
	for i, c := range candidates {
		order[i] = i
		for k, v := range RelevanceNumbers(c, r.prior) {
			odds[i] += float64(r.model.W[k]) * float64(v)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(odds[a], odds[b]) })
	least, most := odds[order[0]], odds[order[len(order)-1]]
	all = max(all, len(candidates))
	unseen := float64(all-len(candidates)) * math.Exp(least-most)
	sum := unseen
	for _, o := range odds {
		sum += math.Exp(o - most)
	}
	remaining := unseen
	for _, i := range order {
		own := math.Exp(odds[i] - most)
		remaining += own
		out[i] = remaining <= floor*sum && own*float64(all) < random*sum
	}
	return out
}
