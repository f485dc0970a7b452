package supervised

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"github.com/mneme-memory/mneme/shared/ranking"
)

// fit is the objective of Pretrain, as a function of the feature weights in units of the features' scales.
type fit struct {
	lists   []list
	scales  []float64
	options PretrainOptions
	// out are the features whose weight is held at 0.
	out map[int]bool
}

// bounded returns where the objective is least with the weights of NotNegative at 0 or more. It takes out the features
// with the most negative of these weights, one after the other, as long as there are any.
func (f *fit) bounded(ctx context.Context) ([]float64, error) {
	f.out = map[int]bool{}
	for {
		at, err := f.minimum(ctx)
		if err != nil {
			return nil, err
		}
		worst := -1
		for _, k := range f.options.NotNegative {
			if at[k] < 0 && (worst < 0 || at[k] < at[worst]) {
				worst = k
			}
		}
		if worst < 0 {
			return at, nil
		}
		f.out[worst] = true
	}
}

// minimum returns where the objective, which is convex, is least.
func (f *fit) minimum(ctx context.Context) ([]float64, error) {
	problem := optimize.Problem{
		Func: func(at []float64) float64 { return f.evaluate(at, nil) },
		Grad: func(gradient, at []float64) { f.evaluate(at, gradient) },
		Status: func() (optimize.Status, error) {
			if err := ctx.Err(); err != nil {
				return optimize.Failure, err
			}
			return optimize.NotTerminated, nil
		},
	}
	settings := &optimize.Settings{GradientThreshold: f.options.Precision}
	r, err := optimize.Minimize(problem, make([]float64, len(f.scales)), settings, &optimize.LBFGS{})
	if err != nil {
		return nil, fmt.Errorf("minimise: %w", err)
	}
	return r.X, nil
}

// evaluate returns the mean cross entropy of the lists with the pull of L2. It also sets the gradient, unless that is
// nil.
func (f *fit) evaluate(at, gradient []float64) float64 {
	w := f.unscaled(at)
	sum := make([]float64, len(at))
	loss, total := f.options.L2/2*floats.Dot(at, at), 0.0
	for _, l := range f.lists {
		total += l.weight
	}
	for _, l := range f.lists {
		each := l.weight / total
		scores := make([]float64, len(l.candidates))
		for i, c := range l.candidates {
			scores[i] = (float64(c.Cosine) + mixed(w, c.Features)) / f.options.Temperature
		}
		loss += each * floats.LogSumExp(scores)
		for i, relevant := range l.relevant {
			if relevant {
				loss -= each * scores[i] / float64(l.right)
			}
		}
		if gradient == nil {
			continue
		}
		for i, by := range l.gradient(scores, 1) {
			axpy(sum, each*by, l.candidates[i].Features)
		}
	}
	for k := range gradient {
		gradient[k] = f.options.L2 * at[k]
		if f.scales[k] > 0 && !f.out[k] {
			gradient[k] -= sum[k] / f.scales[k] / f.options.Temperature
		}
	}
	return loss
}

// unscaled returns the weights of the features as they are.
func (f *fit) unscaled(at []float64) []float64 {
	out := make([]float64, len(at))
	for k, scale := range f.scales {
		if scale > 0 && !f.out[k] {
			out[k] = at[k] / scale
		}
	}
	return out
}

// weights returns the learned weights, with the scales folded in.
func (f *fit) weights(at []float64) ranking.Weights {
	w := ranking.Weights{FeatureSet: f.options.FeatureSet, W: single(f.unscaled(at)),
		FeatureScale: make([]float32, len(at))}
	for k, scale := range f.scales {
		w.FeatureScale[k] = 1
		if scale > 0 {
			w.FeatureScale[k] = max(float32(scale), minScale)
		}
	}
	return w
}

// gradient returns the gradient of the mean log probability of the relevant candidates, by score.
func (l list) gradient(scores []float64, temperature float64) []float64 {
	out := softmax(scores, temperature)
	for i := range out {
		out[i] = -out[i] / temperature
		if l.relevant[i] {
			out[i] += 1 / (float64(l.right) * temperature)
		}
	}
	return out
}

// scales returns the standard deviation of each feature among the candidates of a query, pooled over all queries. It
// is 0 for a constant feature. A feature that differs only between queries cannot order candidates.
func scales(lists []list) []float64 {
	out := make([]float64, len(lists[0].candidates[0].Features))
	count := 0
	for _, l := range lists {
		count += len(l.candidates)
		for k := range out {
			mean := 0.0
			for _, c := range l.candidates {
				mean += float64(c.Features[k])
			}
			mean /= float64(len(l.candidates))
			for _, c := range l.candidates {
				deviation := float64(c.Features[k]) - mean
				out[k] += deviation * deviation
			}
		}
	}
	for k := range out {
		out[k] = math.Sqrt(out[k] / float64(count))
		if out[k] < minScale {
			out[k] = 0
		}
		out[k] = min(out[k], maxScale)
	}
	return out
}
