package ranking

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const (
	// memory is the share of the earlier curvature that a step keeps, so the weights never stop following changes.
	memory = 0.999
	// steepest bounds the curvature of one trace: the sum of its variances, in units of the features' scales.
	steepest = 1e4
)

// curvature returns the Fisher information of the feature weights at one trace, in units of the features' scales.
// It is the covariance of the candidates' features under the softmax of their scores, over the squared temperature.
// It is the lower triangle, row by row. A matrix steeper than the bound is scaled down as a whole.
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

// uphill returns (1/rate + fisher)^-1 g, the natural step along a gradient from a prior of precision 1/rate. fisher
// is a lower triangle, row by row, or empty for zero. The result is nil without a gradient or rate, and if rounding
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
