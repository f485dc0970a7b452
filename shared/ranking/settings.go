package ranking

import "github.com/mneme-memory/mneme/shared/fault"

// Settings say how an order is drawn and how weights are learned.
type Settings struct {
	// LearningRate is the length of a step of the maps per unit of gradient.
	LearningRate float64
	// FeatureRate is the length of the first steps of the feature weights per unit of gradient, by features in units of their scale: the
	// inverse of the precision that the prior has in steps. What has been learned since makes steps shorter (see Learn).
	FeatureRate float64
	// Baseline is what a reward (+1 cited, -1 not) is compared with where the selection was drawn; where it was not, there is none (see
	// Learn).
	Baseline float64
	// Temperature divides the scores before a draw: larger explores more.
	Temperature float64
	// Spread is what each better candidate of its session takes off a score where a query needs several things (see Spread).
	Spread float64
	// Batch is the number of traces that make a step.
	Batch int
	// ClipNorm is the largest norm of the gradient of one trace, separately for feature weights and maps; a longer one is shortened
	// to it. It is per trace, not per step, so that no single one outweighs the rest of its batch; the mean is then as short.
	ClipNorm float64
	// FeatureRadius is how far the feature weights may leave the prior: the norm of the difference, in units of the features' scales.
	FeatureRadius float64
	// MapRadius is how far the maps may leave the prior: the norm of the difference over both.
	MapRadius float64
}

// DefaultSettings are those of RMM (appendix A.1), with bounds and a rate of feature weights that the paper, which has no
// features, does not give. That rate was chosen on made-up conversations of two tenants
// (`mneme-lab eval learning`), where 400 steps from untrained weights come within three points of supervised training.
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
