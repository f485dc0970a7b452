package learning

import (
	"math"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/fault"
)

// Credit is a choice with its value.
type Credit struct {
	decision.Choice
	// Advantage is the advantage of its group. Weight is its factor by a mixture of groups. 0 counts as 1.
	Advantage, Weight float64
	// Share is its part of the loss, relative to other credits. Each of n choices of a rollout has 1/n, so that
	// rollouts with few and many choices count the same (DeltaMem, appendix B; MemBuilder, Eq. 12). 0 counts as 1.
	Share float64
	// Reference has the log probabilities of its options by the reference policy.
	Reference []float64
}

func (c Credit) share() float64 {
	if c.Share == 0 {
		return 1
	}
	return c.Share
}

// SurrogateOptions are the options of the clipped surrogate (GRPO; SaliMory's Table 6 has 0.2 and 0.08).
type SurrogateOptions struct {
	// Clip is the largest counted change of the ratio of probabilities. KL is the weight of the divergence from the
	// reference.
	Clip, KL float64
}

// SurrogateDefaults returns SaliMory's values.
func SurrogateDefaults() SurrogateOptions {
	return SurrogateOptions{Clip: 0.2, KL: 0.08}
}

// Validate reports a setting that is out of range.
func (o SurrogateOptions) Validate() error {
	switch {
	case !(o.Clip > 0 && o.Clip < 1):
		return fault.Terminal("clip", "is %v, want more than 0, less than 1", o.Clip)
	case !(o.KL >= 0) || math.IsInf(o.KL, 1):
		return fault.Terminal("kl", "is %v, want 0 or more, and finite", o.KL)
	}
	return nil
}

// Surrogate returns the loss of a choice under a head, the divergence of its options' probabilities from the
// reference, and the derivative of the loss by each option's log-odds.
func (o SurrogateOptions) Surrogate(h decision.Head, c Credit) (loss, divergence float64, byScore []float64) {
	p := h.LogProbabilities(c.Options)
	byScore = make([]float64, len(p))
	weight := c.Weight
	if weight == 0 {
		weight = 1
	}
	ratio := math.Exp(p[c.Chosen] - c.LogProbability)
	clipped := min(1+o.Clip, max(1-o.Clip, ratio))
	free, bound := ratio*c.Advantage, clipped*c.Advantage
	loss = -weight * min(free, bound)
	if free <= bound { // outside the clip's effect: the loss moves with the ratio
		byRatio := -weight * c.Advantage
		for i := range p { // d log p[chosen] / d score[i] = [i is chosen] - p[i]
			byScore[i] -= byRatio * ratio * math.Exp(p[i])
		}
		byScore[c.Chosen] += byRatio * ratio
	}
	if c.Reference == nil {
		return loss, 0, byScore
	}
	for i := range p {
		divergence += math.Exp(p[i]) * (p[i] - c.Reference[i])
	}
	for i := range p {
		byScore[i] += o.KL * math.Exp(p[i]) * (p[i] - c.Reference[i] - divergence)
	}
	return loss + o.KL*divergence, divergence, byScore
}
