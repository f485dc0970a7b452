// Package ranking orders candidate memories for a query, and learns from their citations: the retrospective reflection
// of RMM (section 6). It is pure: no I/O, no globals, and randomness only from a source that the caller passes in.
// Equal inputs give equal results, except for the last bits, which machines round differently. Replicas agree because
// they read one stored result.
//
// The score of a candidate with features f and embedding m for a query with embedding q is
//
//	s = q'.m' + w.f        q' = q + Wq q        m' = m + Wm m
//
// The maps stay small for every dimension. Wq = P^T Aq P and Wm = P^T Am P, where P projects onto Rank numbers (see
// Projector) and Aq, Am are square. As the rows of P are orthonormal,
//
//	q'.m' = q.m + (Aq q~).m~ + q~.(Am m~) + (Aq q~).(Am m~)        q~ = P q        m~ = P m
//
// so a ranker needs only the number q.m and the projections of the embeddings.
//
// Weights are the learned values, and Settings the parameters of learning. Top orders by score, and Settings.Sample
// draws an order to explore. A Trace keeps the inputs of the order until the citations come, and Settings.Learn moves a
// State by them. Every tenant starts from a shipped Prior, which the laboratory trains.
package ranking

import "github.com/mneme-memory/mneme/shared/fault"

// Settings say how an order is drawn and how weights are learned.
type Settings struct {
	// LearningRate is the length of a step of the maps per unit of gradient.
	LearningRate float64
	// FeatureRate is the length of the first steps of the feature weights per unit of gradient, by features in units
	// of their scale. It is the inverse of the prior's precision in steps. Learned evidence makes later steps shorter
	// (see Learn).
	FeatureRate float64
	// Baseline is subtracted from a reward (+1 cited, -1 not) where the selection was drawn. Other selections use no
	// baseline (see Learn).
	Baseline float64
	// Temperature divides the scores before a draw: larger explores more.
	Temperature float64
	// Spread is the deduction from a score for each better candidate of its session, where a query needs several
	// things (see Spread).
	Spread float64
	// Batch is the number of traces that make a step.
	Batch int
	// ClipNorm is the largest norm of the gradient of one trace, separately for feature weights and maps; a longer one
	// is shortened to it. It applies per trace, not per step, so that no single trace outweighs the rest of its batch.
	// The mean has the same bound.
	ClipNorm float64
	// FeatureRadius is the largest distance of the feature weights from the prior: the norm of the difference, in
	// units of the features' scales.
	FeatureRadius float64
	// MapRadius is how far the maps may leave the prior: the norm of the difference over both.
	MapRadius float64
}

// DefaultSettings are the settings of RMM (appendix A.1). The bounds and the rate of feature weights are ours, since
// the paper has no features. The rate was chosen on synthetic conversations of two tenants (`mneme-lab eval
// learning`). There 400 steps from untrained weights come within three points of supervised training.
func DefaultSettings() Settings {
	return Settings{
		LearningRate: 1e-3, FeatureRate: 0.15, Baseline: 0.5, Temperature: 0.5, Spread: DefaultSpread, Batch: 4,
		ClipNorm: 5, FeatureRadius: 1, MapRadius: 1,
	}
}

// Validate says which setting is out of bounds, as a terminal error that names it.
func (s Settings) Validate() error {
	for _, setting := range []struct {
		name        string
		value       float64
		least, most float64
	}{
		{"learning_rate", s.LearningRate, 0, 1},
		{"feature_rate", s.FeatureRate, 0, 1},
		{"baseline", s.Baseline, -1, 1},
		{"temperature", s.Temperature, 1e-3, 1e3},
		{"spread", s.Spread, 0, 1e3},
		{"batch", float64(s.Batch), 1, 1024},
		{"clip_norm", s.ClipNorm, 1e-6, 1e3},
		{"feature_radius", s.FeatureRadius, 0, 1e3},
		{"map_radius", s.MapRadius, 0, 1e3},
	} {
		if !(setting.value >= setting.least && setting.value <= setting.most) { // not so for NaN either
			return fault.Terminal(setting.name, "is %v, want %v to %v", setting.value, setting.least, setting.most)
		}
	}
	return nil
}
