package learning

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/mneme-memory/mneme/shared/fault"
)

// AdamOptions are the options of AdamW (Loshchilov and Hutter 2019).
type AdamOptions struct {
	// Rate is the size of a step. Decay is the decay of the weights a step, as a share of Rate.
	Rate, Decay float64
	// Norm is the largest norm of a gradient, 0 for no limit. Warmup is the number of steps in which the rate rises
	// to its full value.
	Norm   float64
	Warmup int
}

// AdamDefaults returns values that suit a small head.
func AdamDefaults() AdamOptions { return AdamOptions{Rate: 0.02, Norm: 1, Warmup: 10} }

// Validate reports a setting that is out of range.
func (o AdamOptions) Validate() error {
	if !(o.Rate > 0) || !(o.Decay >= 0) || !(o.Norm >= 0) || math.IsInf(o.Rate+o.Decay+o.Norm, 1) || o.Warmup < 0 {
		return fault.Terminal("adam", "has rate %v, decay %v, norm %v and warmup %d, want more than 0, and 0 or "+
			"more, all finite",
			o.Rate, o.Decay, o.Norm, o.Warmup)
	}
	return nil
}

// Adam is the state of an optimizer. A training can continue from it and the weights.
type Adam struct {
	Step   int       `json:"step"`
	First  []float64 `json:"first"`
	Second []float64 `json:"second"`
}

const beta1, beta2, epsilonAdam = 0.9, 0.999, 1e-8

// Apply takes one step against a gradient. It shortens a gradient above Norm in place.
func (a *Adam) Apply(weights, gradient []float64, o AdamOptions) {
	if a.First == nil {
		a.First, a.Second = make([]float64, len(weights)), make([]float64, len(weights))
	}
	if norm := floats.Norm(gradient, 2); o.Norm > 0 && norm > o.Norm {
		for i := range gradient {
			gradient[i] *= o.Norm / norm
		}
	}
	a.Step++
	rate := o.Rate
	if a.Step < o.Warmup {
		rate *= float64(a.Step) / float64(o.Warmup)
	}
	c1, c2 := 1-math.Pow(beta1, float64(a.Step)), 1-math.Pow(beta2, float64(a.Step))
	for i, g := range gradient {
		a.First[i] = beta1*a.First[i] + (1-beta1)*g
		a.Second[i] = beta2*a.Second[i] + (1-beta2)*g*g
		weights[i] -= rate * (a.First[i]/c1/(math.Sqrt(a.Second[i]/c2)+epsilonAdam) + o.Decay*weights[i])
	}
}
