package learning

import (
	"math"
	"slices"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/fault"
)

// ContrastOptions are the options of SaliMory's contrast (3.4, Table 6).
type ContrastOptions struct {
	// Temperature divides the difference of log probabilities (eta). Weight multiplies the loss: lambda_b for a
	// booster, lambda_u for a utilizer.
	Temperature, Weight float64
	// Similar is the least Jaccard similarity of the banks of a utilizer's pair (tau_sim). It ensures that the pair
	// compares profiles, not the booster's banks. Below 0, all pairs compare.
	Similar float64
}

// ContrastDefaults returns the paper's values for a booster and for a utilizer.
func ContrastDefaults() (booster, utilizer ContrastOptions) {
	return ContrastOptions{Temperature: 0.15, Weight: 0.15, Similar: -1}, ContrastOptions{Temperature: 0.15, Weight: 0.1, Similar: 0.15}
}

// Validate reports a setting that is out of range.
func (o ContrastOptions) Validate() error {
	if !(o.Temperature > 0) || !(o.Weight >= 0) {
		return fault.Terminal("contrast", "has temperature %v and weight %v, want more than 0, and 0 or more", o.Temperature, o.Weight)
	}
	return nil
}

// Rollout has a role's choices in one of several rollouts from one state.
type Rollout struct {
	Choices []decision.Choice
	// Score is the reward of the role's part alone: R2 for a booster, mu for a utilizer.
	Score float64
	// Bank has the ids, or texts, of the memories at that time.
	Bank []string
}

// Pair is a better and a worse rollout.
type Pair struct {
	Winner, Loser Rollout
	// Gap is the difference of their scores.
	Gap float64
}

// Pairs returns the best and the worst rollout of a group, where they differ and their banks are similar enough.
func (o ContrastOptions) Pairs(group []Rollout) []Pair {
	if len(group) < 2 {
		return nil
	}
	by := func(a, b Rollout) int {
		switch {
		case a.Score < b.Score:
			return -1
		case a.Score > b.Score:
			return 1
		}
		return 0
	}
	winner, loser := slices.MaxFunc(group, by), slices.MinFunc(group, by)
	if winner.Score <= loser.Score || Jaccard(winner.Bank, loser.Bank) <= o.Similar {
		return nil
	}
	return []Pair{{winner, loser, winner.Score - loser.Score}}
}

// Jaccard is the size of the intersection of two sets divided by the size of their union, 0 to 1. For two empty sets
// it is 1.
func Jaccard(a, b []string) float64 {
	in, both, all := map[string]bool{}, 0, 0
	for _, x := range a {
		if !in[x] {
			in[x] = true
			all++
		}
	}
	seen := map[string]bool{}
	for _, x := range b {
		switch {
		case seen[x]:
		case in[x]:
			both++
		default:
			all++
		}
		seen[x] = true
	}
	if all == 0 {
		return 1
	}
	return float64(both) / float64(all)
}

// Loss returns the loss of a pair and adds its gradient by the head's weights. The paper leaves its form open. Here
// it is the gap times a logistic loss. The logistic loss takes the difference of the mean log probabilities of both
// rollouts' choices, divided by the temperature.
func (o ContrastOptions) Loss(h decision.Head, p Pair, gradient []float64) float64 {
	if len(p.Winner.Choices) == 0 || len(p.Loser.Choices) == 0 {
		return 0
	}
	z := (meanLog(h, p.Winner.Choices) - meanLog(h, p.Loser.Choices)) / o.Temperature
	loss := o.Weight * p.Gap * softplus(-z)
	byMean := -o.Weight * p.Gap / (1 + math.Exp(z)) / o.Temperature
	accumulateMean(h, p.Winner.Choices, byMean, gradient)
	accumulateMean(h, p.Loser.Choices, -byMean, gradient)
	return loss
}

func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func meanLog(h decision.Head, choices []decision.Choice) float64 {
	sum := 0.0
	for _, c := range choices {
		sum += h.LogProbabilities(c.Options)[c.Chosen]
	}
	return sum / float64(len(choices))
}

func accumulateMean(h decision.Head, choices []decision.Choice, byMean float64, gradient []float64) {
	each := byMean / float64(len(choices))
	for _, c := range choices {
		p := h.LogProbabilities(c.Options)
		byScore := make([]float64, len(p))
		for i := range p {
			byScore[i] = -each * math.Exp(p[i])
		}
		byScore[c.Chosen] += each
		h.Accumulate(c.Options, byScore, gradient)
	}
}
