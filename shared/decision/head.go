package decision

import (
	"math"
	"math/rand/v2"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Option is one possible result of a decision.
type Option struct {
	// Features describe it. All options of a role have the same number of features.
	Features []float64
	// Base is the log-odds without a head: the log-odds from the rules or models that decide today.
	Base float64
}

// Head scores options: linearly, or through one hidden layer of tanh. A head of zero weights leaves all log-odds
// unchanged.
type Head struct {
	// Features is the number of features of an option. Hidden is the width of the layer, or 0.
	Features int `json:"features"`
	Hidden   int `json:"hidden"`
	// Weights are the weights of the layer by unit, each followed by its bias. The weights of the output follow.
	Weights []float64 `json:"weights"`
}

// NewHead makes a head that changes nothing. It draws the weights of the layer, because a layer of zeros cannot
// learn. The weights of the output are 0.
func NewHead(features, hidden int, random *rand.Rand) Head {
	h := Head{Features: features, Hidden: hidden, Weights: make([]float64, size(features, hidden))}
	for i := range hidden * (features + 1) {
		h.Weights[i] = random.NormFloat64() / math.Sqrt(float64(features+1))
	}
	return h
}

func size(features, hidden int) int {
	if hidden == 0 {
		return features
	}
	return hidden*(features+1) + hidden
}

// Validate reports the faults of a head read from a file.
func (h Head) Validate() error {
	switch {
	case h.Features < 1 || h.Features > 1<<16:
		return fault.Terminal("features", "are %d, want 1 to %d", h.Features, 1<<16)
	case h.Hidden < 0 || h.Hidden > 1<<10:
		return fault.Terminal("hidden", "is %d, want 0 to %d", h.Hidden, 1<<10)
	case len(h.Weights) != size(h.Features, h.Hidden):
		return fault.Terminal("weights", "are %d, want %d for %d features and a layer of %d", len(h.Weights),
			size(h.Features, h.Hidden), h.Features, h.Hidden)
	}
	for i, w := range h.Weights {
		if math.IsNaN(w) || math.IsInf(w, 0) {
			return fault.Terminal("weights", "have no number at %d", i)
		}
	}
	return nil
}

// Clone returns a head that shares no memory with h.
func (h Head) Clone() Head {
	h.Weights = append([]float64(nil), h.Weights...)
	return h
}

// score is the head's share of an option's log-odds. It fills layer with the values of the hidden layer, where
// there is one.
func (h Head) score(features, layer []float64) float64 {
	if h.Hidden == 0 {
		return dot(h.Weights, features)
	}
	out, s := h.Weights[h.Hidden*(h.Features+1):], 0.0
	for u := range h.Hidden {
		w := h.Weights[u*(h.Features+1) : (u+1)*(h.Features+1)]
		layer[u] = math.Tanh(dot(w[:h.Features], features) + w[h.Features])
		s += out[u] * layer[u]
	}
	return s
}

// LogProbabilities returns the log of each option's probability.
func (h Head) LogProbabilities(options []Option) []float64 {
	out, layer := make([]float64, len(options)), make([]float64, h.Hidden)
	for i, o := range options {
		out[i] = o.Base + h.score(o.Features, layer)
	}
	return logSoftmax(out)
}

// Accumulate adds to a gradient the derivatives of a loss by the weights. The input byScore is the derivative of
// the loss by each option's log-odds.
func (h Head) Accumulate(options []Option, byScore, gradient []float64) {
	layer := make([]float64, h.Hidden)
	for i, o := range options {
		d := byScore[i]
		if d == 0 {
			continue
		}
		if h.Hidden == 0 {
			add(gradient, d, o.Features)
			continue
		}
		h.score(o.Features, layer)
		out := h.Hidden * (h.Features + 1)
		for u := range h.Hidden {
			gradient[out+u] += d * layer[u]
			inner := d * h.Weights[out+u] * (1 - layer[u]*layer[u])
			add(gradient[u*(h.Features+1):(u+1)*(h.Features+1)-1], inner, o.Features)
			gradient[(u+1)*(h.Features+1)-1] += inner
		}
	}
}

// Choice is a recorded decision.
type Choice struct {
	Options []Option
	// Chosen is the index of the chosen option. LogProbability is the log of its probability at that time.
	Chosen         int
	LogProbability float64
}

// Best returns the index of the likeliest option. Of equal options it takes the first.
func Best(logProbabilities []float64) int {
	best := 0
	for i, p := range logProbabilities {
		if p > logProbabilities[best] {
			best = i
		}
	}
	return best
}

// Draw draws an option by its probability, as training does.
func Draw(logProbabilities []float64, random *rand.Rand) int {
	at := random.Float64()
	for i, p := range logProbabilities {
		if at -= math.Exp(p); at < 0 {
			return i
		}
	}
	return len(logProbabilities) - 1
}

func dot(a, b []float64) (s float64) {
	for i := range b {
		s += a[i] * b[i]
	}
	return s
}

func add(to []float64, times float64, v []float64) {
	for i, x := range v {
		to[i] += times * x
	}
}

func logSoftmax(scores []float64) []float64 {
	most := math.Inf(-1)
	for _, s := range scores {
		most = max(most, s)
	}
	sum := 0.0
	for _, s := range scores {
		sum += math.Exp(s - most)
	}
	out := make([]float64, len(scores))
	for i, s := range scores {
		out[i] = s - most - math.Log(sum)
	}
	return out
}
