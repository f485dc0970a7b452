package learning

import (
	"math"
	"math/rand/v2"
)

// Choice is a decision as it was made.
type Choice struct {
	Options []Option
	// Chosen is the place of the option taken, LogProbability the log of its chance then.
	Chosen         int
	LogProbability float64
}

// Best returns the likeliest option's place, the first of several that are as likely: what a service does.
func Best(logProbabilities []float64) int {
	best := 0
	for i, p := range logProbabilities {
		if p > logProbabilities[best] {
			best = i
		}
	}
	return best
}

// Draw draws an option by its chance: what training does.
func Draw(logProbabilities []float64, random *rand.Rand) int {
	at := random.Float64()
	for i, p := range logProbabilities {
		if at -= math.Exp(p); at < 0 {
			return i
		}
	}
	return len(logProbabilities) - 1
}
