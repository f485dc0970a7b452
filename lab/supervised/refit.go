package supervised

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/ranking"
)

// RefitOptions say how a prior is fitted anew.
type RefitOptions struct {
	// Pull is the strength with which feature weights, in units of the features' scales, are drawn to the prior's. It
	// is a precision against the evidence of all examples, so it counts less with more examples.
	Pull float64
	// MapPull is how strongly the maps are drawn to zero, likewise; 0 learns none.
	MapPull float64
	// Temperature divides the scores, as in PretrainOptions.
	Temperature float64
	// Precision is the largest slope of the mean over the examples that counts as none.
	Precision float64
}

// DefaultRefitOptions are not tuned to any conversations: a pull counts for about as much as some tens of questions.
func DefaultRefitOptions() RefitOptions {
	return RefitOptions{Pull: 30, MapPull: 1, Temperature: ranking.DefaultSettings().Temperature, Precision: 1e-4}
}

func (o RefitOptions) validate() error {
	for _, option := range []struct {
		name        string
		value       float64
		least, most float64
	}{
		{"pull", o.Pull, 1e-3, 1e6},
		{"map_pull", o.MapPull, 0, 1e6},
		{"temperature", o.Temperature, 1e-3, 1e3},
		{"precision", o.Precision, 1e-9, 1},
	} {
		if !(option.value >= option.least && option.value <= option.most) {
			return fault.Terminal(option.name, "is %v, want %v to %v", option.value, option.least, option.most)
		}
	}
	return nil
}

// Refit fits a prior to examples, for instance of another embedder. The objective is Pretrain's, with a pull to the
// prior instead of zero, so that few examples change little. With MapPull it learns the maps, too, from the embeddings
// of the examples. A bilinear objective has no single minimum; the search starts from maps of zero. Equal input gives
// equal weights. A feature that never varies keeps its weight. Malformed examples, and examples without any
// information, are terminal errors.
func Refit(ctx context.Context, prior ranking.Weights, examples []Example, o RefitOptions) (ranking.Weights, error) {
	if err := o.validate(); err != nil {
		return ranking.Weights{}, fmt.Errorf("refit: %w", err)
	}
	lists, err := readExamples(examples)
	if err != nil {
		return ranking.Weights{}, fmt.Errorf("refit: %w", err)
	}
	r, err := newRefit(prior, lists, o)
	if err != nil {
		return ranking.Weights{}, fmt.Errorf("refit: %w", err)
	}
	at, err := r.minimum(ctx)
	if err != nil {
		return ranking.Weights{}, fmt.Errorf("refit: %w", err)
	}
	w := r.weights(at)
	if err := w.Validate(); err != nil {
		return ranking.Weights{}, fmt.Errorf("refit: %w", err)
	}
	return w, nil
}

// refit is the objective of Refit, as a function of the feature weights in units of the features' scales, then the
// cells of both maps.
type refit struct {
	prior   ranking.Weights
	lists   []list
	scales  []float64
	rank    int
	options RefitOptions
}

func newRefit(prior ranking.Weights, lists []list, o RefitOptions) (*refit, error) {
	r := &refit{prior: prior, lists: lists, scales: scales(lists), options: o}
	if len(prior.W) != len(r.scales) {
		return nil, fault.Terminal(
			"prior",
			"has %d weights, want %d as the examples have features: %w",
			len(prior.W),
			len(r.scales),
			ranking.ErrFeatureSet,
		)
	}
	for k, scale := range r.scales {
		if scale == 0 {
			r.scales[k] = featureScale(prior, k)
		}
	}
	if o.MapPull == 0 {
		return r, nil
	}
	for _, l := range lists {
		n := len(l.query)
		if r.rank != 0 && n != 0 && n != r.rank {
			return nil, fault.Terminal("query", "has %d numbers in one example and %d in another, want one embedder's", r.rank,
				n)
		}
		r.rank = max(r.rank, n)
	}
	return r, nil
}

// start is the prior, without maps.
func (r *refit) start() []float64 {
	at := make([]float64, len(r.scales)+2*r.rank*r.rank)
	for k, scale := range r.scales {
		at[k] = float64(r.prior.W[k]) * scale
	}
	return at
}

func (r *refit) minimum(ctx context.Context) ([]float64, error) {
	start := r.start()
	problem := optimize.Problem{
		Func: func(at []float64) float64 { return r.evaluate(at, start, nil) },
		Grad: func(gradient, at []float64) { r.evaluate(at, start, gradient) },
		Status: func() (optimize.Status, error) {
			if err := ctx.Err(); err != nil {
				return optimize.Failure, err
			}
			return optimize.NotTerminated, nil
		},
	}
	found, err := optimize.Minimize(problem, start, &optimize.Settings{GradientThreshold: r.options.Precision},
		&optimize.LBFGS{})
	if err != nil {
		return nil, fmt.Errorf("minimise: %w", err)
	}
	return found.X, nil
}

// maps are the two maps in a point, or in a gradient; nil where none are learned.
func (r *refit) maps(at []float64) (aq, am *mat.Dense) {
	n, from := r.rank, len(r.scales)
	if n == 0 {
		return nil, nil
	}
	return mat.NewDense(n, n, at[from:from+n*n]), mat.NewDense(n, n, at[from+n*n:])
}

// evaluate returns the mean cross entropy of the lists with the pulls, and sets its gradient, unless that is nil.
func (r *refit) evaluate(at, start, gradient []float64) float64 {
	features := len(r.scales)
	w := make([]float64, features)
	for k, scale := range r.scales {
		w[k] = at[k] / scale
	}
	each := 1 / float64(len(r.lists))
	offset := slices.Clone(at)
	floats.Sub(offset, start)
	for i := range offset {
		pull := r.options.Pull
		if i >= features {
			pull = r.options.MapPull
		}
		if gradient != nil {
			gradient[i] = pull * each * offset[i]
		}
		offset[i] *= offset[i] * pull
	}
	loss := each / 2 * floats.Sum(offset)
	aq, am := r.maps(at)
	var byMaps [2]*mat.Dense
	if gradient != nil {
		byMaps[0], byMaps[1] = r.maps(gradient)
	}
	byFeature := make([]float64, features)
	for _, l := range r.lists {
		bent := l.project(aq, am)
		scores := l.scores(w, bent)
		loss -= each * l.logProbability(scores, r.options.Temperature)
		if gradient == nil {
			continue
		}
		byScore := l.gradient(scores, r.options.Temperature)
		for i, by := range byScore {
			axpy(byFeature, by, l.candidates[i].Features)
		}
		if bent != nil {
			bent.subtractGradient(byMaps, l.sum(byScore), am, each)
		}
	}
	if gradient != nil {
		for k, scale := range r.scales {
			gradient[k] -= each * byFeature[k] / scale
		}
	}
	return loss
}

// bent is a query as the maps see it; nil without maps or embedding.
type bent struct {
	// query is q, and adapted is q + Aq q. The product of pull and a memory is the maps' addition to the memory's
	// score: Aq q + Am^T (q + Aq q).
	query, adapted, pull *mat.VecDense
}

func (l list) project(aq, am *mat.Dense) *bent {
	if aq == nil || len(l.query) == 0 {
		return nil
	}
	q := mat.NewVecDense(len(l.query), nil)
	for i, x := range l.query {
		q.SetVec(i, float64(x))
	}
	b := &bent{query: q, adapted: &mat.VecDense{}, pull: &mat.VecDense{}}
	var moved mat.VecDense
	moved.MulVec(aq, q)
	b.adapted.AddVec(&moved, q)
	b.pull.MulVec(am.T(), b.adapted)
	b.pull.AddVec(b.pull, &moved)
	return b
}

func (l list) scores(w []float64, b *bent) []float64 {
	out := make([]float64, len(l.candidates))
	for i, c := range l.candidates {
		out[i] = float64(c.Cosine) + mixed(w, c.Features)
		if b != nil {
			out[i] += mixed(b.pull.RawVector().Data, c.Projected)
		}
	}
	return out
}

// logProbability is the mean log probability of the relevant candidates.
func (l list) logProbability(scores []float64, temperature float64) float64 {
	scaled := slices.Clone(scores)
	floats.Scale(1/temperature, scaled)
	out := -floats.LogSumExp(scaled)
	for i, relevant := range l.relevant {
		if relevant {
			out += scaled[i] / float64(l.right)
		}
	}
	return out
}

// sum is the sum of the memories by their share.
func (l list) sum(shares []float64) []float64 {
	out := make([]float64, len(l.query))
	for i, c := range l.candidates {
		if len(c.Projected) != 0 {
			axpy(out, shares[i], c.Projected)
		}
	}
	return out
}

// subtractGradient subtracts the share of the sum v of memories from the gradient by the maps: (v + Am v) q^T and (q +
// Aq q) v^T.
func (b *bent) subtractGradient(byMaps [2]*mat.Dense, v []float64, am *mat.Dense, each float64) {
	sum := mat.NewVecDense(len(v), v)
	var memory mat.VecDense
	memory.MulVec(am, sum)
	memory.AddVec(&memory, sum)
	byMaps[0].RankOne(byMaps[0], -each, &memory, b.query)
	byMaps[1].RankOne(byMaps[1], -each, b.adapted, sum)
}

func (r *refit) weights(at []float64) ranking.Weights {
	w := ranking.Weights{FeatureSet: r.prior.FeatureSet}
	for k, scale := range r.scales {
		w.W = append(w.W, float32(at[k]/scale))
		w.FeatureScale = append(w.FeatureScale, max(float32(scale), minScale))
	}
	if n := r.rank * r.rank; n > 0 {
		maps := single(at[len(r.scales):])
		w.Aq, w.Am = maps[:n:n], maps[n:]
	}
	return w
}
