package bench

import (
	"math"
	"slices"
)

// percentile is the smallest value that at least the share p (0 to 1) of the values does not exceed. It is NaN for no
// values.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// median is the middle value, or the mean of the two in the middle. It is NaN for no values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	m := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[m]
	}
	return (sorted[m-1] + sorted[m]) / 2
}

// ratioOfRounds is the median over the rounds of ours divided by baseline. Both figures of a round were measured
// together, so a slowdown of the machine affects both and not their ratio.
func ratioOfRounds(ours, baseline []float64) float64 {
	ratios := make([]float64, 0, len(ours))
	for i := range min(len(ours), len(baseline)) {
		ratios = append(ratios, ours[i]/baseline[i])
	}
	return median(ratios)
}
