package supervised

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/mneme-memory/mneme/shared/ranking"
)

// A feature's scale has the bounds of ranking.Weights.
const (
	minScale = 1e-6
	maxScale = 1e6
)

// featureScale returns the scale of a feature, which is 1 for weights without scales.
func featureScale(w ranking.Weights, feature int) float64 {
	if len(w.FeatureScale) == 0 {
		return 1
	}
	return float64(w.FeatureScale[feature])
}

// mixed returns the inner product of a and b.
func mixed(a []float64, b []float32) (sum float64) {
	for i, x := range b {
		sum += a[i] * float64(x)
	}
	return sum
}

// axpy adds by*x to sum.
func axpy(sum []float64, by float64, x []float32) {
	for i, v := range x {
		sum[i] += by * float64(v)
	}
}

// single rounds to single precision.
func single(v []float64) []float32 {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x)
	}
	return out
}

// softmax returns the probability of each score.
func softmax(scores []float64, temperature float64) []float64 {
	out, best := make([]float64, len(scores)), floats.Max(scores)
	for i, s := range scores {
		out[i] = math.Exp((s - best) / temperature)
	}
	floats.Scale(1/floats.Sum(out), out)
	return out
}
