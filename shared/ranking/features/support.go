package features

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/ranking"
)

// SupportSet is name and version of the numbers that SupportNumbers returns.
const SupportSet = "support/1"

// SupportDepth is the number of candidates for support. It includes other people's statements, though the ranker puts
// them after the named speaker's.
const SupportDepth = 30

// SupportShown is how many of them are usually shown.
const SupportShown = 10

// sharpness is the extra weight of the best of some values, and mostLead the largest useful difference of two.
const (
	sharpness = 2
	mostLead  = 4
)

//go:embed support.json
var support []byte

// ownScores is a model of numbers that rest on the shared prior. It does not depend on a tenant's learned weights.
type ownScores struct{ prior, model ranking.Weights }

func shippedScores(name string, file []byte, set string, names []string) (ownScores, error) {
	prior, err := Prior()
	if err != nil {
		return ownScores{}, err
	}
	model, err := ranking.DecodePrior(file, set, names)
	if err != nil {
		return ownScores{}, fmt.Errorf("shipped %s model: %w", name, err)
	}
	return ownScores{prior.Weights, model.Weights}, nil
}

// logOdds weighs the numbers of the model.
func (m ownScores) logOdds(numbers []float32) float64 {
	odds := 0.0
	for i, v := range numbers {
		odds += float64(m.model.W[i]) * float64(v)
	}
	return odds
}

// Support says whether candidates answer a query. It does not change, and is safe for concurrent use.
type Support struct{ ownScores }

// ShippedSupport is the model that `mneme-lab train support` learns from made-up conversations, with the shipped prior
// that it rests on. See docs/reranker-model-card.md.
func ShippedSupport() (Support, error) {
	m, err := shippedScores("support", support, SupportSet, SupportNames())
	return Support{m}, err
}

// LogOdds are the log odds that the candidates answer their query, and not another query about another person. They
// are less than 0 if that is less likely than not, and 0 without candidates.
func (s Support) LogOdds(candidates []Candidate) float64 {
	return s.logOdds(SupportNumbers(candidates, s.prior.W))
}

// Best is the best score of the candidates by the shared prior; 0 without candidates.
func (s Support) Best(candidates []Candidate) float64 {
	best := math.Inf(-1)
	for _, c := range candidates {
		best = max(best, c.score(s.prior.W))
	}
	if len(candidates) == 0 {
		return 0
	}
	return best
}

// score is the candidate's score by the weights of Names.
func (c Candidate) score(weights []float32) float64 {
	score := float64(c.Cosine)
	for f, v := range c.Features {
		score += float64(weights[f]) * float64(v)
	}
	return score
}

// SupportNames returns the names of SupportNumbers, in their order. They are a constant, and whether the query names
// one speaker. Then come the lead of that speaker's candidates over other people's, and whether there are no others.
// The last are the best score, and its lead over the last shown one.
func SupportNames() []string { return []string{"constant", "named", "lead", "alone", "best", "spread"} }

// SupportNumbers compares the candidates of a query by the weights of Names, without the features of the speaker. If
// another person's candidates answer better than the named person's, the query has the wrong person.
func SupportNumbers(candidates []Candidate, weights []float32) []float32 {
	type rated struct {
		Candidate
		score, bare float64
	}
	var all []rated
	for _, c := range candidates {
		r := rated{Candidate: c, score: c.score(weights)}
		r.bare = r.score
		for k, n := range used[c.Regime] {
			if f := starts[c.Regime] + k; n == spokenBy || n == spokenByOther {
				r.bare -= float64(weights[f]) * float64(c.Features[f])
			}
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b rated) int { return cmp.Compare(b.score, a.score) })
	all = all[:min(len(all), SupportDepth)]
	out := make([]float32, len(SupportNames()))
	if len(all) == 0 {
		return out
	}
	var own, others []float64
	best := math.Inf(-1)
	for _, r := range all {
		best = max(best, r.bare)
		switch {
		case r.number(spokenBy) > 0:
			own = append(own, r.bare)
		case r.number(spokenByOther) > 0 && !r.byAssistant():
			others = append(others, r.bare)
		}
	}
	lead, alone := 0.0, len(own) > 0 && len(others) == 0
	if len(others) > 0 {
		lead = max(-mostLead, min(mostLead, softMax(own)-softMax(others)))
	}
	last := all[min(len(all), SupportShown)-1].score
	out[0], out[1], out[2], out[3] = 1, flag(len(own)+len(others) > 0), float32(lead), flag(alone)
	out[4], out[5] = float32(best), float32(all[0].score-last)
	return out
}

// softMax is a soft maximum: with many that are near to the best, it is more. Of nothing, it is the least there is.
func softMax(scores []float64) float64 {
	if len(scores) == 0 {
		return math.Inf(-1)
	}
	most := slices.Max(scores)
	sum := 0.0
	for _, s := range scores {
		sum += math.Exp(sharpness * (s - most))
	}
	return most + math.Log(sum)/sharpness
}

// byAssistant reports whether an assistant made the statement: a query does not confuse an assistant with a person.
func (c Candidate) byAssistant() bool {
	n := len(c.Turns)
	return n > 0 && c.Turns[n-1].Role == memory.RoleAssistant
}

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
