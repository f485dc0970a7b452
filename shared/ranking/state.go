package ranking

import (
	"errors"
	"fmt"

	"github.com/mneme-memory/mneme/shared/fault"
)

// State is the full input of further learning: a tenant's weights and the gathered data for their next step.
type State struct {
	// Weights are in use.
	Weights Weights
	// Learned counts the traces that were learned from in all.
	Learned uint64
	// Fisher is the Fisher information of the feature weights gathered so far, in units of the features' scales. It is
	// the lower triangle of a symmetric matrix, row by row. Empty means zero.
	Fisher []float32
	// Pending is gathered for the next step.
	Pending Pending
}

// Pending is the sum of the gradients since the last step.
type Pending struct {
	// Count is the number of traces in the sum.
	Count int
	// W is by feature weights in units of the features' scales. Aq and Am are by the maps. Empty means zero.
	W, Aq, Am []float32
	// Fisher is the sum of the traces' Fisher information, as State has it.
	Fisher []float32
}

// NewState is where a tenant begins.
func NewState(prior Weights) State { return State{Weights: prior.Clone()} }

// Validate returns the state's fault as a terminal error that names the field.
func (s State) Validate() error {
	if err := s.Weights.Validate(); err != nil {
		return fmt.Errorf("weights: %w", err)
	}
	gathered := Weights{W: s.Pending.W, Aq: s.Pending.Aq, Am: s.Pending.Am}
	if err := gathered.Validate(); err != nil {
		return fmt.Errorf("pending: %w", err)
	}
	if n := len(gathered.W); n != 0 && n != len(s.Weights.W) {
		return fault.Terminal("pending.w", "has %d entries, want none or %d", n, len(s.Weights.W))
	}
	if mine, theirs := gathered.rank(), s.Weights.rank(); mine != 0 && theirs != 0 && mine != theirs {
		return fault.Terminal("pending.aq", "has %d rows, want none or %d", mine, theirs)
	}
	want := triangle(len(s.Weights.W))
	if n := len(s.Fisher); n != 0 && n != want {
		return fault.Terminal("fisher", "has %d entries, want none or %d", n, want)
	}
	if n := len(s.Pending.Fisher); n != 0 && n != want {
		return fault.Terminal("pending.fisher", "has %d entries, want none or %d", n, want)
	}
	if err := errors.Join(finite("fisher", s.Fisher), finite("pending.fisher", s.Pending.Fisher)); err != nil {
		return err
	}
	if s.Pending.Count < 0 {
		return fault.Terminal("pending.count", "is %d, want at least 0", s.Pending.Count)
	}
	return nil
}

// triangle is how many entries the lower triangle of a matrix has.
func triangle(rows int) int { return rows * (rows + 1) / 2 }

// stateFormat is the first byte of an encoded state.
const stateFormat = 2

// maxPending bounds the count of a decoded state.
const maxPending = 1 << 20

// EncodeState writes a state exactly: 16 bytes a feature and 4 for each pair of them, twice while a step is gathered.
// Learned maps take 16 bytes a cell of one map. An invalid state is a terminal error.
func EncodeState(s State) ([]byte, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	var w writer
	w.byte(stateFormat)
	w.number(s.Weights.Version)
	w.text(s.Weights.FeatureSet)
	w.number(uint64(len(s.Weights.W)))
	w.floats(s.Weights.W)
	w.number(uint64(len(s.Weights.FeatureScale)))
	w.floats(s.Weights.FeatureScale)
	w.matrices(s.Weights.Aq, s.Weights.Am)
	w.number(s.Learned)
	w.number(uint64(len(s.Fisher)))
	w.floats(s.Fisher)
	w.number(uint64(s.Pending.Count))
	w.number(uint64(len(s.Pending.W)))
	w.floats(s.Pending.W)
	w.matrices(s.Pending.Aq, s.Pending.Am)
	w.number(uint64(len(s.Pending.Fisher)))
	w.floats(s.Pending.Fisher)
	return w.b, nil
}

// DecodeState reads the output of EncodeState. Other input is a terminal error that names the field. The input's
// length bounds the allocated memory.
func DecodeState(b []byte) (State, error) {
	r := reader{b: b}
	r.format(stateFormat)
	var s State
	s.Weights.Version = r.number("weights.version")
	s.Weights.FeatureSet = r.text("weights.feature_set")
	s.Weights.W = r.floats("weights.w", r.count("weights.w", MaxFeatures))
	s.Weights.FeatureScale = r.floats("weights.feature_scale", r.count("weights.feature_scale", MaxFeatures))
	s.Weights.Aq, s.Weights.Am = r.matrices("weights.aq")
	s.Learned = r.number("learned")
	s.Fisher = r.floats("fisher", r.count("fisher", triangle(MaxFeatures)))
	s.Pending.Count = r.count("pending.count", maxPending)
	s.Pending.W = r.floats("pending.w", r.count("pending.w", MaxFeatures))
	s.Pending.Aq, s.Pending.Am = r.matrices("pending.aq")
	s.Pending.Fisher = r.floats("pending.fisher", r.count("pending.fisher", triangle(MaxFeatures)))
	r.end()
	if r.err == nil {
		r.err = s.Validate()
	}
	if r.err != nil {
		return State{}, fmt.Errorf("decode state: %w", r.err)
	}
	return s, nil
}
