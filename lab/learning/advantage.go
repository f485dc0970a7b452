package learning

import (
	"math"
	"slices"
)

// epsilonSpread keeps the advantages of rewards that hardly differ from exploding.
const epsilonSpread = 1e-6

// Advantages are the rewards of a group less their mean, in parts of their standard deviation (by n-1). A group whose rewards are all the
// same teaches nothing: its advantages are 0, and varied is false, so that such groups can be counted.
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

// Mixed are the credits of choices from global groups - the same session over whole rollouts - and local ones, which begin at one
// rollout's state before the session (Memory-R2's LoGo-GRPO). Each group has been normalised by itself.
type Mixed[T any] struct {
	Item   T
	Weight float64
}

// Mix puts choices of global and local groups into one batch. local is the local groups' share of the credit, 0 to 1; the paper puts both
// together as they come, so that their numbers mix them. A side without choices leaves the whole to the other.
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

// Curriculum returns the sessions of lives that get longer, twice as long at a time up to times as long as the shortest: of each length as
// many session steps. Memory-R2's is that of 8 sessions and 4 times: four lives of 8, two of 16, one of 32.
func Curriculum(sessions, times int) (lengths []int) {
	for n := 1; n <= times; n *= 2 {
		lengths = append(lengths, slices.Repeat([]int{n * sessions}, times/n)...)
	}
	return lengths
}
