package learning

import (
	"math"
)

// epsilonSpread limits the advantages of nearly equal rewards.
const epsilonSpread = 1e-6

// Advantages returns the rewards of a group less their mean, divided by their standard deviation (by n-1). A group
// with equal rewards teaches nothing: its advantages are 0, and varied is false, so that the caller can count such
// groups.
func Advantages(rewards []float64) (advantages []float64, varied bool) {
	out := make([]float64, len(rewards))
	if len(rewards) < 2 {
		return out, false
	}
	mean := 0.0
	for _, r := range rewards {
		mean += r / float64(len(rewards))
	}
	variance := 0.0
	for _, r := range rewards {
		variance += (r - mean) * (r - mean) / float64(len(rewards)-1)
	}
	spread := math.Sqrt(variance)
	if spread < 1e-9 {
		return out, false
	}
	for i, r := range rewards {
		out[i] = (r - mean) / (spread + epsilonSpread)
	}
	return out, true
}

// Mixed is a choice with its credit from a global or a local group (Memory-R2's LoGo-GRPO). A global group has the
// same session of whole rollouts. A local group begins at one rollout's state before the session. Each group is
// normalised separately.
type Mixed[T any] struct {
	Item   T
	Weight float64
}

// Mix puts choices of global and local groups into one batch. local is the local groups' share of the credit, 0 to 1.
// The paper joins both without weights, so their numbers set the share. With one side empty, the other has all
// credit.
func Mix[T any](global, local []T, share float64) []Mixed[T] {
	switch {
	case len(local) == 0:
		share = 0
	case len(global) == 0:
		share = 1
	}
	n := float64(len(global) + len(local))
	out := make([]Mixed[T], 0, len(global)+len(local))
	put := func(items []T, share float64) {
		for _, item := range items {
			out = append(out, Mixed[T]{item, share * n / float64(len(items))})
		}
	}
	put(global, 1-share)
	put(local, share)
	return out
}
