package ranking

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"
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
