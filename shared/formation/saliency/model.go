package saliency

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/mneme-memory/mneme/shared/memory"
)

// ErrModel says that a file is no model of this filter.
var ErrModel = errors.New("not a model of the saliency filter")

// Model is a trained filter: a logistic regression over the features of a turn.
type Model struct {
	// Version is name and version of the filter, kept with every decision.
	Version string `json:"version"`
	// Training says what the model was made from and by which options; deciding does not need it.
	Training json.RawMessage `json:"training,omitempty"`
	// Threshold is the score from which a turn is salient, 0 to 1.
	Threshold float64 `json:"threshold"`
	// Bias is the weight of no feature at all.
	Bias float64 `json:"bias"`
	// Weights are by feature name; one that is missing weighs nothing.
	Weights map[string]float64 `json:"weights"`
}

//go:embed model.json
var trained []byte

// Trained returns the model that is compiled into the binary.
func Trained() (Model, error) { return ParseModel(trained) }

// ParseModel reads a model's JSON. The error is ErrModel for anything that cannot decide.
func ParseModel(data []byte) (Model, error) {
	var m Model
	if err := json.Unmarshal(data, &m); err != nil {
		return Model{}, fmt.Errorf("%w: %w", ErrModel, err)
	}
	if m.Version == "" || !(m.Threshold > 0 && m.Threshold < 1) {
		return Model{}, fmt.Errorf("%w: version %q, threshold %v", ErrModel, m.Version, m.Threshold)
	}
	if _, err := m.dense(); err != nil {
		return Model{}, err
	}
	return m, nil
}

// dense puts the weights in the features' order.
func (m Model) dense() (vector, error) {
	var v vector
	found := 0
	for i, name := range featureNames {
		w, ok := m.Weights[name]
		if ok {
			found++
		}
		v[i] = w
	}
	if found != len(m.Weights) {
		return v, fmt.Errorf("%w: it weighs features that there are not", ErrModel)
	}
	return v, nil
}

// FeatureNames returns the names of the features in the order of Features.
func FeatureNames() []string { return append([]string(nil), featureNames[:]...) }

// Features returns what the model sees of a turn. The numbers are at least 0.
func Features(t memory.Turn) []float64 {
	v := featuresOf(t)
	return v[:]
}

// logistic turns a sum into a score between 0 and 1.
func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
