package learning

import (
	"math"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/fault"
)

// UpdateOptions are the options of an update by a batch of choices.
type UpdateOptions struct {
	Surrogate SurrogateOptions
	Adam      AdamOptions
	// Epochs is the number of passes over the batch. An epoch ends the update where the mean divergence from the
	// batch's policy exceeds Slack times Target (SaliMory, B.2: 1.5 times a target that the paper does not name).
	Epochs        int
	Target, Slack float64
}

// UpdateDefaults returns SaliMory's values. The optimizer's values and Target are ours.
func UpdateDefaults() UpdateOptions {
	return UpdateOptions{Surrogate: SurrogateDefaults(), Adam: AdamDefaults(), Epochs: 4, Target: 0.02, Slack: 1.5}
}

// Validate reports a setting that is out of range.
func (o UpdateOptions) Validate() error {
	if o.Epochs < 1 || !(o.Target > 0) || !(o.Slack > 0) || math.IsInf(o.Target+o.Slack, 1) {
		return fault.Terminal("update", "has %d epochs, target %v and slack %v, want more than 0, and finite", o.Epochs,
			o.Target, o.Slack)
	}
	if err := o.Surrogate.Validate(); err != nil {
		return err
	}
	return o.Adam.Validate()
}

// Batch is the data of an update.
type Batch struct {
	Credits []Credit
}

// Updated describes an update.
type Updated struct {
	// Epochs is the number of passes made, Loss the loss of the last pass.
	Epochs int
	Loss   float64
	// Divergence is the mean divergence from the reference after the last epoch. Moved is the mean divergence from
	// the batch's policy.
	Divergence, Moved float64
}

// Update learns from a batch, in place. The batch must not be empty. The loss is the mean over its credits by their
// shares, which does not depend on their number.
func Update(h *decision.Head, adam *Adam, b Batch, o UpdateOptions) Updated {
	var out Updated
	before, whole := h.Clone(), 0.0
	for _, c := range b.Credits {
		whole += c.share()
	}
	for out.Epochs < o.Epochs {
		gradient := make([]float64, len(h.Weights))
		out.Loss, out.Divergence = 0, 0
		for _, c := range b.Credits {
			loss, divergence, byScore := o.Surrogate.Surrogate(*h, c)
			share := c.share() / whole
			out.Loss += share * loss
			out.Divergence += share * divergence
			for i := range byScore {
				byScore[i] *= share
			}
			h.Accumulate(c.Options, byScore, gradient)
		}
		adam.Apply(h.Weights, gradient, o.Adam)
		out.Epochs++
		out.Moved = meanDivergence(*h, before, b.Credits, whole)
		if out.Moved > o.Slack*o.Target {
			break
		}
	}
	return out
}

func meanDivergence(h, from decision.Head, credits []Credit, whole float64) float64 {
	sum := 0.0
	for _, c := range credits {
		p, q := h.LogProbabilities(c.Options), from.LogProbabilities(c.Options)
		for i := range p {
			sum += c.share() / whole * math.Exp(p[i]) * (p[i] - q[i])
		}
	}
	return sum
}
