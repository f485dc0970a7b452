package features

import (
	"cmp"
	_ "embed"
	"math"
	"slices"

	"github.com/mneme-memory/mneme/shared/ranking"
)

// RelevanceSet is name and version of the numbers that RelevanceNames names.
const RelevanceSet = "relevance/1"

// RelevanceDepth is the number of candidates with a computed relevance. Later candidates count as the least likely of
// them.
const RelevanceDepth = SupportDepth

//go:embed relevance.json
var relevance []byte

// Relevance is the model of the probability that a user's request to an assistant needs a result. It does not change,
// and is safe for concurrent use.
type Relevance struct{ ownScores }

// ShippedRelevance is the model that `mneme-lab train relevance` learns from dialogues with an assistant, with the
// shipped prior that it rests on. See docs/reranker-model-card.md.
func ShippedRelevance() (Relevance, error) {
	m, err := shippedScores("relevance", relevance, RelevanceSet, RelevanceNames())
	return Relevance{m}, err
}

// RelevanceNames returns the names of RelevanceNumbers, in their order.
func RelevanceNames() []string { return []string{"score"} }

// RelevanceNumbers are the inputs of relevance: the score by the weights of Names.
func RelevanceNumbers(c Candidate, w ranking.Weights) []float32 {
	return []float32{float32(c.score(w.W))}
}

// HardlyNeeded reports for each candidate whether it may be left out, by two conditions. The request needs that
// candidate, or a less likely one, with a probability of at most floor, 0 to 1. The candidate's probability is less
// than the probability of a random memory. The candidates are the first of all, the number of memories.
func (r Relevance) HardlyNeeded(candidates []Candidate, all int, floor float64) []bool {
	out := make([]bool, len(candidates))
	if len(candidates) == 0 {
		return out
	}
	odds, order := make([]float64, len(candidates)), make([]int, len(candidates))
	for i, c := range candidates {
		order[i], odds[i] = i, r.logOdds(RelevanceNumbers(c, r.prior))
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
		out[i] = remaining <= floor*sum && own*float64(all) < sum
	}
	return out
}
