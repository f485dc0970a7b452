package ranking

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Bounds of the scored and stored values.
const (
	// MaxCandidates is the largest number of candidates of one query.
	MaxCandidates = 512
	// MaxFeatures is the largest number of features.
	MaxFeatures = 256
	// MaxIDBytes is the longest identifier, of a memory or a recall, and the longest name.
	MaxIDBytes = 128
)

// Scales outside of these would make a step overflow.
const (
	minScale = 1e-6
	maxScale = 1e6
)

// ErrFeatureSet marks terminal errors about numbers of other features than the weights'. The owner of a State then
// starts again from the prior of the new features.
var ErrFeatureSet = errors.New("features of another set")

// Weights are the parameters of the score. They are values: no function here changes its input.
type Weights struct {
	// Version counts the steps since the prior, which has version 0.
	Version uint64
	// FeatureSet is name and version of the features.
	FeatureSet string
	// W has a weight for each feature, in the order of the set.
	W []float32
	// FeatureScale has the variation of each feature among the candidates of a query (a standard deviation), in the
	// order of W. Steps and distances of feature weights are in these units, so that one learning rate serves all
	// features. Empty means 1 for each.
	FeatureScale []float32
	// Aq and Am map query and memory. They are Rank x Rank, or as wide as an embedding that is not projected, row by
	// row. Empty means zero, which leaves the embeddings as they are. They belong to one embedding model: with
	// another, start from the prior.
	Aq, Am []float32
}

// Candidate is a memory to score.
type Candidate struct {
	// ID identifies the memory; it settles ties.
	ID string
	// Features has the numbers of the feature set, in its order.
	Features []float32
	// Projected is the embedding after Projector; empty if unknown.
	Projected []float32
	// Cosine is the inner product of the full embeddings of query and candidate, minus the deduction of Spread. It is
	// 0 where an embedding is unknown. The weights do not affect it.
	Cosine float32
}

// Validate returns the weights' fault as a terminal error that names the field.
func (w Weights) Validate() error {
	if len(w.FeatureSet) > MaxIDBytes {
		return fault.Terminal("feature_set", "has %d bytes, want at most %d", len(w.FeatureSet), MaxIDBytes)
	}
	if len(w.W) > MaxFeatures {
		return fault.Terminal("w", "has %d features, want at most %d", len(w.W), MaxFeatures)
	}
	if n := len(w.FeatureScale); n != 0 && n != len(w.W) {
		return fault.Terminal("feature_scale", "has %d entries, want none or %d", n, len(w.W))
	}
	for i, x := range w.FeatureScale {
		if !(x >= minScale && x <= maxScale) {
			return fault.Terminal("feature_scale", "has %v at %d, want %g to %g", x, i, minScale, maxScale)
		}
	}
	if len(w.Aq) != len(w.Am) {
		return fault.Terminal("am", "has %d entries, want as many as aq: %d", len(w.Am), len(w.Aq))
	}
	if r := w.rank(); r > MaxIdentity || r*r != len(w.Aq) {
		return fault.Terminal("aq", "has %d entries, want a square of at most %d rows", len(w.Aq), MaxIdentity)
	}
	return errors.Join(finite("w", w.W), finite("aq", w.Aq), finite("am", w.Am))
}

// rank is the number of rows of the maps, 0 without maps.
func (w Weights) rank() int { return int(math.Sqrt(float64(len(w.Aq)))) }

// scale is the scale of a feature.
func (w Weights) scale(feature int) float64 {
	if len(w.FeatureScale) == 0 {
		return 1
	}
	return float64(w.FeatureScale[feature])
}

// Clone returns a copy that shares nothing.
func (w Weights) Clone() Weights {
	w.W, w.FeatureScale = slices.Clone(w.W), slices.Clone(w.FeatureScale)
	w.Aq, w.Am = slices.Clone(w.Aq), slices.Clone(w.Am)
	return w
}

// Distance is the distance to other weights of the same feature set: the Euclidean norm over feature weights, in units
// of the features' scales, and both maps.
func (w Weights) Distance(from Weights) float64 {
	features := make([]float64, len(w.W))
	for i := range min(len(w.W), len(from.W)) {
		features[i] = (float64(w.W[i]) - float64(from.W[i])) * from.scale(i)
	}
	return norm(features, difference(w.Aq, from.Aq), difference(w.Am, from.Am))
}

// difference is a-b, where an empty one is zero.
func difference(a, b []float32) []float64 {
	out := make([]float64, max(len(a), len(b)))
	for i := range out {
		if i < len(a) {
			out[i] = float64(a[i])
		}
		if i < len(b) {
			out[i] -= float64(b[i])
		}
	}
	return out
}

// Scores returns the score of each candidate for a query, whose projected embedding may be empty. A candidate or query
// without an embedding is scored by its features and cosine alone. Wrong lengths and numbers that are not finite are
// terminal errors that name the field.
func (w Weights) Scores(query []float32, candidates []Candidate) ([]float64, error) {
	if err := w.check(query, candidates); err != nil {
		return nil, err
	}
	return w.scores(query, candidates), nil
}

// scores is Scores for checked input.
func (w Weights) scores(query []float32, candidates []Candidate) []float64 {
	pull := w.pull(query)
	scores := make([]float64, len(candidates))
	for i, c := range candidates {
		scores[i] = float64(c.Cosine) + dot32(w.W, c.Features)
		if pull != nil && len(c.Projected) != 0 {
			scores[i] += mixed(pull, c.Projected)
		}
	}
	return scores
}

// pull returns a vector whose inner product with a projected memory is the maps' addition to its score: Aq q + Am^T (q
// + Aq q). The maps thus cost once per query and not per candidate. It is nil where the maps are zero.
func (w Weights) pull(query []float32) []float64 {
	n := len(query)
	if n == 0 || zero(w.Aq) && zero(w.Am) {
		return nil
	}
	out, adapted := make([]float64, n), make([]float64, n)
	for i := range n {
		out[i] = dot32(w.Aq[i*n:(i+1)*n], query)
		adapted[i] = out[i] + float64(query[i])
	}
	for i, x := range adapted {
		axpy(out, x, w.Am[i*n:(i+1)*n])
	}
	return out
}

func zero(v []float32) bool { return !slices.ContainsFunc(v, func(x float32) bool { return x != 0 }) }

// check refuses input that does not fit the weights. The weights were validated at their creation.
func (w Weights) check(query []float32, candidates []Candidate) error {
	if len(candidates) > MaxCandidates {
		return fault.Terminal("candidates", "has %d entries, want at most %d", len(candidates), MaxCandidates)
	}
	if len(query) > MaxIdentity {
		return fault.Terminal("query", "has %d numbers, want a projected vector of at most %d", len(query), MaxIdentity)
	}
	if r := w.rank(); len(w.Aq) != r*r || len(w.Am) != r*r || r != 0 && len(query) != 0 && len(query) != r {
		return fault.Terminal("query", "has %d numbers, and the maps %d and %d; want one rank", len(query), len(w.Aq),
			len(w.Am))
	}
	if err := finite("query", query); err != nil {
		return err
	}
	for i, c := range candidates {
		if err := w.checkCandidate(c, len(query)); err != nil {
			return fmt.Errorf("candidate %d: %w", i, err)
		}
	}
	return nil
}

func (w Weights) checkCandidate(c Candidate, width int) error {
	if len(c.Features) != len(w.W) {
		return fault.Terminal("candidates.features", "has %d numbers, want %d: %w", len(c.Features), len(w.W), ErrFeatureSet)
	}
	if n := len(c.Projected); n > MaxIdentity || n != 0 && width != 0 && n != width {
		return fault.Terminal("candidates.vector", "has %d numbers, want as many as the query: %d", n, width)
	}
	if err := finite("candidates.features", c.Features); err != nil {
		return err
	}
	if err := finite("candidates.vector", c.Projected); err != nil {
		return err
	}
	if c.Cosine-c.Cosine != 0 {
		return fault.Terminal("candidates.cosine", "is %v, want a finite number", c.Cosine)
	}
	return nil
}
