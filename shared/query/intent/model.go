package intent

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
)

// ErrModel says that a file is no model of intents.
var ErrModel = errors.New("not a model of the intent of questions")

// Model is a trained model. It is safe for concurrent use.
type Model struct {
	// Version is name and version of the model.
	Version string `json:"version"`
	// Training records the data and options of the training. Reading does not need it.
	Training json.RawMessage `json:"training,omitempty"`
	// Threshold is the probability of Past from which a question is read so.
	Threshold float64 `json:"threshold"`
	// Intents classifies the intents. Dates classifies a date as only mentioned (0) or asked about (1).
	Intents Linear `json:"intents"`
	Dates   Linear `json:"dates"`
}

// Linear is a multinomial logistic regression over features.
type Linear struct {
	// Keys are the features that something was learned of, in order.
	Keys []uint32 `json:"keys"`
	// Weights has a signed byte per class for each key. Scales are the values of a weight of 1.
	Weights []byte    `json:"weights"`
	Scales  []float64 `json:"scales"`
	// Bias has a number a class.
	Bias []float64 `json:"bias"`
}

//go:embed model.json
var trained []byte

// Trained returns the model that is compiled into the binary. It panics when that cannot be read, because then the binary itself is
// broken.
var Trained = sync.OnceValue(func() *Model {
	m, err := ParseModel(trained)
	if err != nil {
		panic(fmt.Sprintf("load the compiled-in intent model: %v", err))
	}
	return m
})

// ParseModel reads a model's JSON. The error is ErrModel for anything that cannot read questions.
func ParseModel(data []byte) (*Model, error) {
	var m Model
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModel, err)
	}
	if m.Version == "" || !(m.Threshold > 0 && m.Threshold <= 1) {
		return nil, fmt.Errorf("%w: version %q, threshold %v", ErrModel, m.Version, m.Threshold)
	}
	if err := m.Intents.check(len(names)); err != nil {
		return nil, fmt.Errorf("%w: intents: %w", ErrModel, err)
	}
	if err := m.Dates.check(2); err != nil {
		return nil, fmt.Errorf("%w: dates: %w", ErrModel, err)
	}
	return &m, nil
}

// Encode is the model as JSON.
func (m *Model) Encode() ([]byte, error) {
	b, err := json.Marshal(m)
	return append(b, '\n'), err
}

func (l Linear) check(classes int) error {
	switch {
	case len(l.Bias) != classes || len(l.Scales) != classes || len(l.Weights) != classes*len(l.Keys):
		return fmt.Errorf("%d keys, %d weights, %d scales and %d biases do not fit %d classes",
			len(l.Keys), len(l.Weights), len(l.Scales), len(l.Bias), classes)
	case !slices.IsSorted(l.Keys):
		return errors.New("the keys are not in order")
	}
	for _, x := range slices.Concat(l.Bias, l.Scales) {
		if !(math.Abs(x) < 1e6) {
			return fmt.Errorf("a bias or scale is %v", x)
		}
	}
	return nil
}

// Probabilities returns the probabilities of the classes.
func (l Linear) Probabilities(features []Feature) []float64 {
	classes := len(l.Bias)
	out := make([]float64, classes)
	for _, f := range features {
		if i, ok := slices.BinarySearch(l.Keys, f.Key); ok {
			for c := range out {
				out[c] += f.Value * l.Scales[c] * float64(int8(l.Weights[i*classes+c])) //nolint:gosec // two's complement, as written
			}
		}
	}
	most, sum := math.Inf(-1), 0.0
	for c := range out {
		out[c] += l.Bias[c]
		most = max(most, out[c])
	}
	for c := range out {
		out[c] = math.Exp(out[c] - most)
		sum += out[c]
	}
	for c := range out {
		out[c] /= sum
	}
	return out
}
