package ranking

import (
	"math"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/floats"

	"github.com/mneme-memory/mneme/shared/fault"
)

// dot32 is the inner product of equally long slices of single precision, summed in double.
func dot32(a, b []float32) float64 {
	return blas32.DDot(blas32.Vector{N: len(a), Inc: 1, Data: a}, blas32.Vector{N: len(b), Inc: 1, Data: b})
}

// mixed is the inner product of double and single precision.
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

// norm is the Euclidean length of all vectors together.
func norm(vs ...[]float64) float64 {
	length := 0.0
	for _, v := range vs {
		length = math.Hypot(length, floats.Norm(v, 2))
	}
	return length
}

// softmax is the probability of each candidate to be taken first. A candidate with a score of minus infinity is never
// taken.
func softmax(scores []float64, temperature float64) []float64 {
	out, best := make([]float64, len(scores)), floats.Max(scores)
	for i, s := range scores {
		out[i] = math.Exp((s - best) / temperature)
	}
	floats.Scale(1/floats.Sum(out), out)
	return out
}

// finite refuses NaN and infinities, naming the field and the place.
func finite(field string, v []float32) error {
	for i, x := range v {
		if x-x != 0 {
			return fault.Terminal(field, "has %v at %d, want a finite number", x, i)
		}
	}
	return nil
}
