package learning

import (
	"math"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/fault"
)

// Weighing is the place of an attribution weight. MemBuilder's Eq. 12 prints an unusual place.
type Weighing string

// The readings.
const (
	// WeighUnclipped puts it on the unclipped term alone, as printed: min(w rho A, clip(rho) A). With w above 1 and a
	// positive advantage, the gradient within the clip is the same as without a weight. From (1-epsilon)/w to
	// 1-epsilon it is 0. With a negative advantage it is w times as great. So the weight mutes the choices that it
	// should amplify.
	WeighUnclipped Weighing = "unclipped"
	// WeighBoth puts it on the whole: w min(rho A, clip(rho) A).
	WeighBoth Weighing = "both"
)

// Credit is a choice with its value.
type Credit struct {
	decision.Choice
	// Advantage is the advantage of its group. Weight is its factor by attribution or by a mixture. 0 counts as 1.
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
	Weighing Weighing
}

// SurrogateDefaults returns SaliMory's values.
func SurrogateDefaults() SurrogateOptions {
	return SurrogateOptions{Clip: 0.2, KL: 0.08, Weighing: WeighBoth}
}

// Validate reports a setting that is out of range.
func (o SurrogateOptions) Validate() error {
	switch {
	case !(o.Clip > 0 && o.Clip < 1):
		return fault.Terminal("clip", "is %v, want more than 0, less than 1", o.Clip)
	case !(o.KL >= 0) || math.IsInf(o.KL, 1):
		return fault.Terminal("kl", "is %v, want 0 or more, and finite", o.KL)
	case o.Weighing != WeighUnclipped && o.Weighing != WeighBoth:
		return fault.Terminal("weighing", "is %q, want %q or %q", o.Weighing, WeighUnclipped, WeighBoth)
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
	inner, outer := 1.0, weight
	if o.Weighing == WeighUnclipped {
		inner, outer = weight, 1
	}
	free, bound := inner*ratio*c.Advantage, clipped*c.Advantage
	loss = -outer * min(free, bound)
	if free <= bound { // outside the clip's effect: the loss moves with the ratio
		byRatio := -outer * inner * c.Advantage
		for i := range p { // d log p[chosen] / d score[i] = [i is chosen] - p[i]
			byScore[i] -= byRatio * ratio * math.Exp(p[i])
		}
		byScore[c.Chosen] += byRatio * ratio
	} else if ratio == clipped { // within the bounds, where only the weight made the difference
		byRatio := -outer * c.Advantage
		for i := range p {
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
