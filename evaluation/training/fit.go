package training

import (
	"math"
)

// sample is one turn as the fit sees it.
type sample struct {
	x       []float64
	salient bool
}

// fitOptions are the knobs of the regression.
type fitOptions struct {
	// recallWeight is the share of the loss that salient turns have, 0 to 1; the others have the rest.
	recallWeight float64
	// ridge is the weight of the squared weights, on features scaled to a deviation of one.
	ridge float64
	// signs says of each feature whether its weight may only be positive (+1), negative (-1), or either (0).
	signs []int
}

// fitted is the outcome, in the features' own scale.
type fitted struct {
	bias    float64
	weights []float64
	loss    float64 // mean weighted loss on the training data, without the ridge
}

// tolerance is the largest step, in deviations, after which the descent has arrived; maxPasses bounds it.
const (
	tolerance = 2e-3
	maxPasses = 200
)

// fit minimises the weighted logistic loss by cyclic coordinate descent with Newton steps. The
// problem is strictly convex, so the order of the samples does not matter beyond rounding.
func fit(samples []sample, o fitOptions) fitted {
	d := newDescent(samples, o)
	for range maxPasses {
		if d.pass() < tolerance {
			break
		}
	}
	return d.result()
}

// descent holds the columns of the scaled features, and the margin of every sample.
type descent struct {
	o       fitOptions
	mean    []float64
	scale   []float64
	columns [][]float64
	label   []float64 // 1 or 0
	weight  []float64
	margin  []float64
	bias    float64
	w       []float64
}

func newDescent(samples []sample, o fitOptions) *descent {
	n, k := len(samples), len(samples[0].x)
	d := &descent{o: o, mean: make([]float64, k), scale: make([]float64, k), columns: make([][]float64, k),
		label: make([]float64, n), weight: make([]float64, n), margin: make([]float64, n), w: make([]float64, k)}
	salient := 0
	for _, s := range samples {
		if s.salient {
			salient++
		}
	}
	for i, s := range samples {
		d.weight[i] = (1 - o.recallWeight) / float64(n-salient)
		if s.salient {
			d.label[i], d.weight[i] = 1, o.recallWeight/float64(salient)
		}
	}
	for j := range k {
		column := make([]float64, n)
		for i, s := range samples {
			column[i] = s.x[j]
		}
		d.columns[j], d.mean[j], d.scale[j] = standardised(column)
	}
	return d
}

// standardised moves a column to mean 0 and deviation 1; one that is constant becomes all 0.
func standardised(column []float64) (_ []float64, mean, scale float64) {
	for _, x := range column {
		mean += x
	}
	mean /= float64(len(column))
	for _, x := range column {
		scale += float64((x - mean) * (x - mean))
	}
	scale = math.Sqrt(scale / float64(len(column)))
	if scale < 1e-9 {
		scale = 0
	}
	for i, x := range column {
		column[i] = 0
		if scale > 0 {
			column[i] = (x - mean) / scale
		}
	}
	return column, mean, scale
}

// pass visits every weight once and returns the largest step.
func (d *descent) pass() float64 {
	largest := math.Abs(d.stepBias())
	for j := range d.w {
		if d.scale[j] > 0 {
			largest = max(largest, math.Abs(d.step(j)))
		}
	}
	return largest
}

func (d *descent) stepBias() float64 {
	gradient, curvature := 0.0, 1e-12
	for i, m := range d.margin {
		p := logistic(m)
		gradient += float64(d.weight[i] * (p - d.label[i]))
		curvature += float64(d.weight[i] * p * (1 - p))
	}
	step := bounded(-gradient / curvature)
	d.bias += step
	for i := range d.margin {
		d.margin[i] += step
	}
	return step
}

// step moves one weight to where its own second-order estimate has its minimum, within its sign.
func (d *descent) step(j int) float64 {
	gradient, curvature := float64(d.o.ridge*d.w[j]), d.o.ridge+1e-12
	column := d.columns[j]
	for i, m := range d.margin {
		p := logistic(m)
		gradient += float64(d.weight[i] * (p - d.label[i]) * column[i])
		curvature += float64(d.weight[i] * p * (1 - p) * column[i] * column[i])
	}
	to := d.w[j] + bounded(-gradient/curvature)
	switch sign := d.o.signs[j]; {
	case sign > 0:
		to = max(0, to)
	case sign < 0:
		to = min(0, to)
	}
	step := to - d.w[j]
	if step == 0 {
		return 0
	}
	d.w[j] = to
	for i := range d.margin {
		d.margin[i] += float64(step * column[i])
	}
	return step
}

// bounded keeps a Newton step from overshooting where the curvature is small.
func bounded(step float64) float64 { return min(1, max(-1, step)) }

// result takes the scaling out of the weights.
func (d *descent) result() fitted {
	out := fitted{bias: d.bias, weights: make([]float64, len(d.w))}
	for j, w := range d.w {
		if d.scale[j] > 0 {
			out.weights[j] = w / d.scale[j]
			out.bias -= float64(out.weights[j] * d.mean[j])
		}
	}
	for i, m := range d.margin {
		out.loss += float64(d.weight[i] * softplus(m, d.label[i]))
	}
	return out
}

// softplus is the logistic loss of one margin.
func softplus(margin, label float64) float64 {
	if label > 0 {
		margin = -margin
	}
	if margin > 30 {
		return margin
	}
	return math.Log1p(math.Exp(margin))
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
