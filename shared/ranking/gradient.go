package ranking

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Gradient is a derivative by weights, in the shapes of Weights. Aq and Am are empty if there was no embedding.
type Gradient struct {
	W, Aq, Am []float64
	// fisher is the curvature of the feature weights where Learn needs it.
	fisher []float64
}

// Gradient returns the exact gradient, by the weights, of the sum over the places i of t.Shown of advantages[i] * log
// p_i. p_i is the Plackett-Luce probability of taking the i-th chosen candidate among all that were not taken before,
// from scores divided by the temperature. The scores come from the receiver, also where the trace was ranked with
// other weights.
func (w Weights) Gradient(t Trace, advantages []float64, temperature float64) (Gradient, error) {
	scores, err := w.Scores(t.Query, t.Candidates)
	if err != nil {
		return Gradient{}, fmt.Errorf("score trace: %w", err)
	}
	return w.chain(t.Query, t.Candidates, scoreGradient(scores, t.Shown, advantages, temperature)), nil
}

// chain turns a gradient by scores into one by weights. v is the sum of memories by their share. The score's
// derivatives by the maps then sum up to (v + Am v) q^T and (q + Aq q) v^T.
func (w Weights) chain(query []float32, candidates []Candidate, byScore []float64) Gradient {
	g := Gradient{W: make([]float64, len(w.W))}
	v := make([]float64, len(query))
	for i, c := range candidates {
		if byScore[i] == 0 {
			continue
		}
		axpy(g.W, byScore[i], c.Features)
		if len(c.Projected) != 0 {
			axpy(v, byScore[i], c.Projected)
		}
	}
	if norm(v) == 0 {
		return g
	}
	q := make([]float64, len(query))
	for i, x := range query {
		q[i] = float64(x)
	}
	g.Aq = outer(adapted(w.Am, v), q)
	g.Am = outer(adapted(w.Aq, q), v)
	return g
}

// adapted is v + A v; an empty map is zero.
func adapted(a []float32, v []float64) []float64 {
	out := slices.Clone(v)
	for i := 0; len(a) != 0 && i < len(v); i++ {
		out[i] += mixed(v, a[i*len(v):(i+1)*len(v)])
	}
	return out
}

// outer is a b^T, row by row.
func outer(a, b []float64) []float64 {
	var product mat.Dense
	product.Outer(1, mat.NewVecDense(len(a), a), mat.NewVecDense(len(b), b))
	return product.RawMatrix().Data
}

const (
	// memory is the share of the gathered curvature that remains after a step. Weights can therefore always follow a
	// change.
	memory = 0.999
	// steepest bounds the curvature of one trace: the sum of its variances, in units of the features' scales.
	steepest = 1e4
)

// curvature returns the Fisher information of the feature weights, in units of the features' scales, at one trace. It
// is the covariance of the candidates' features under the softmax of their scores, over the squared temperature. It is
// the lower triangle, row by row. A matrix that is steeper than the bound is scaled down as a whole.
func (w Weights) curvature(t Trace, scores []float64, scale func(int) float64, temperature float64) []float64 {
	n, shares := len(w.W), softmax(scores, temperature)
	mean, rows := make([]float64, n), make([][]float64, len(t.Candidates))
	for c, candidate := range t.Candidates {
		rows[c] = make([]float64, n)
		for i, x := range candidate.Features {
			rows[c][i] = float64(x) / scale(i)
		}
		floats.AddScaled(mean, shares[c], rows[c])
	}
	out, total := make([]float64, triangle(n)), 0.0
	for c, row := range rows {
		floats.Sub(row, mean)
		for i, x := range row {
			at := triangle(i)
			floats.AddScaled(out[at:at+i+1], shares[c]*x, row[:i+1])
			total += shares[c] * x * x
		}
	}
	by := 1 / (temperature * temperature)
	floats.Scale(by*shorten(total*by, steepest), out)
	return out
}

// uphill returns (1/rate + fisher)^-1 g, the natural step along a gradient from a prior of precision 1/rate. fisher is
// a lower triangle, row by row, or empty for zero. The result is nil without a gradient or rate, and where rounding
// has left no positive matrix.
func uphill(fisher, g []float32, rate float64) []float32 {
	n := len(g)
	if n == 0 || rate == 0 {
		return nil
	}
	precision, gradient := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	for i := range n {
		if len(fisher) != 0 {
			for j, x := range fisher[triangle(i) : triangle(i)+i+1] {
				precision.SetSym(i, j, float64(x))
			}
		}
		precision.SetSym(i, i, precision.At(i, i)+1/rate)
		gradient.SetVec(i, float64(g[i]))
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(precision) || cholesky.SolveVecTo(gradient, gradient) != nil {
		return nil
	}
	return single(gradient.RawVector().Data)
}

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
