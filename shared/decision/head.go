package decision

import (
	"math"
	"math/rand/v2"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Option is one of the things that a decision may be for.
type Option struct {
	// Features describe it; all options of a role have as many.
	Features []float64
	// Base are the log-odds that it has without a head: those of the rules or models that decide so far.
	Base float64
	// About is the kind of memory that the decision is about, for rewards that weigh kinds; empty where it is about none.
	About string
}

// Head scores options: linearly, or through one hidden layer of tanh. Its zero weights change nothing of the log-odds that options have.
type Head struct {
	// Features is how many an option has, Hidden how wide the layer is; 0 for none.
	Features int `json:"features"`
	Hidden   int `json:"hidden"`
	// Weights are those of the layer by unit, each followed by its bias, and then the output's.
	Weights []float64 `json:"weights"`
}

// NewHead makes a head that changes nothing. A layer's own weights are drawn, for if all were 0 none could learn; the output's are 0.
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

// Validate reports what is wrong with a head that was read.
func (h Head) Validate() error {
	switch {
	case h.Features < 1 || h.Features > 1<<16:
		return fault.Terminal("features", "are %d, want 1 to %d", h.Features, 1<<16)
	case h.Hidden < 0 || h.Hidden > 1<<10:
		return fault.Terminal("hidden", "is %d, want 0 to %d", h.Hidden, 1<<10)
	case len(h.Weights) != size(h.Features, h.Hidden):
		return fault.Terminal("weights", "are %d, want %d for %d features and a layer of %d", len(h.Weights), size(h.Features, h.Hidden),
			h.Features, h.Hidden)
	}
	for i, w := range h.Weights {
		if math.IsNaN(w) || math.IsInf(w, 0) {
			return fault.Terminal("weights", "have no number at %d", i)
		}
	}
	return nil
}

// Clone returns a head that shares nothing.
func (h Head) Clone() Head {
	h.Weights = append([]float64(nil), h.Weights...)
	return h
}

// score is a head's part of an option's log-odds, with the layer's values where there is one.
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

// LogProbabilities returns the log of each option's chance.
func (h Head) LogProbabilities(options []Option) []float64 {
	out, layer := make([]float64, len(options)), make([]float64, h.Hidden)
	for i, o := range options {
		out[i] = o.Base + h.score(o.Features, layer)
	}
	return logSoftmax(out)
}

// Accumulate adds to a gradient what the weights have to do with a loss whose derivative by each option's log-odds is given.
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

// Choice is a decision as it was made.
type Choice struct {
	Options []Option
	// Chosen is the place of the option taken, LogProbability the log of its chance then.
	Chosen         int
	LogProbability float64
}

// Best returns the likeliest option's place, the first of several that are as likely.
func Best(logProbabilities []float64) int {
	best := 0
	for i, p := range logProbabilities {
		if p > logProbabilities[best] {
			best = i
		}
	}
	return best
}

// Draw draws an option by its chance: what training does.
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
