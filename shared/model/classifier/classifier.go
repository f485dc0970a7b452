// Package classifier has the linear classifiers of the program: logistic regressions over properties of a short text.
// Terms weighs the words of a text, Linear weighs hashed features. All models of the program are files that it carries,
// and Parse reads each of them.
//
// A model treats a text only as data: the text affects only its own score.
package classifier

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
)

// ErrModel says that a file is no model of the expected type.
var ErrModel = errors.New("not a model")

// Header begins the file of every model.
type Header struct {
	// Version is the name and version of the model.
	Version string `json:"version"`
	// Training records the data, the options and the figures of the training. A decision does not need it.
	Training json.RawMessage `json:"training,omitempty"`
}

// Parse reads the JSON of a model of any type. The error for invalid JSON, or for a model that Check refuses, is an
// ErrModel.
func Parse[M any, P interface {
	*M
	Check() error
}](data []byte) (P, error) {
	m := P(new(M))
	err := json.Unmarshal(data, m)
	if err == nil {
		err = m.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModel, err)
	}
	return m, nil
}

// Shipped returns a function that reads a file of the program once. The function panics if the file is no model,
// because then the program itself is broken.
func Shipped[M any](name string, file []byte, parse func([]byte) (M, error)) func() M {
	return sync.OnceValue(func() M {
		m, err := parse(file)
		if err != nil {
			panic(fmt.Sprintf("load the compiled-in model of %s: %v", name, err))
		}
		return m
	})
}

// Feature is a property of a text: the key of its weight, and its value.
type Feature struct {
	Key   uint32
	Value float32
}

// Linear is a logistic regression over features: with one class a binary one, with more classes a multinomial one.
type Linear struct {
	// Keys are the features with weights, sorted. Without keys, a feature's key is the row of its weights.
	Keys []uint32 `json:"keys"`
	// Weights has a row for each key, with a signed byte a class. Scales are the values of a weight of 1, by class.
	Weights []byte    `json:"weights"`
	Scales  []float64 `json:"scales"`
	// Bias has the log odds of a text without known features, by class.
	Bias []float64 `json:"bias"`
}

// Check reports why the model does not have so many classes, or cannot score.
func (l *Linear) Check(classes int) error {
	switch {
	case len(l.Bias) != classes || len(l.Scales) != classes || l.Keys != nil && len(l.Weights) != classes*len(l.Keys):
		return fmt.Errorf("%d keys, %d weights, %d scales and %d biases do not fit %d classes",
			len(l.Keys), len(l.Weights), len(l.Scales), len(l.Bias), classes)
	case !slices.IsSorted(l.Keys):
		return errors.New("the keys are not sorted")
	}
	for _, x := range slices.Concat(l.Bias, l.Scales) {
		if !(math.Abs(x) < 1e6) {
			return fmt.Errorf("a bias or scale is %v", x)
		}
	}
	return nil
}

// Logits returns the log odds of the classes.
func (l *Linear) Logits(features []Feature) []float64 {
	classes := len(l.Bias)
	out := make([]float64, classes)
	for _, f := range features {
		row, ok := int(f.Key), int(f.Key) < len(l.Weights)/classes
		if l.Keys != nil {
			row, ok = slices.BinarySearch(l.Keys, f.Key)
		}
		for c := range out {
			if ok {
				weight := int8(l.Weights[row*classes+c]) //nolint:gosec // two's complement
				out[c] += float64(f.Value) * l.Scales[c] * float64(weight)
			}
		}
	}
	for c := range out {
		out[c] += l.Bias[c]
	}
	return out
}

// Probabilities returns the probabilities of the classes, of which there are at least two.
func (l *Linear) Probabilities(features []Feature) []float64 {
	out := l.Logits(features)
	most, sum := slices.Max(out), 0.0
	for c := range out {
		out[c] = math.Exp(out[c] - most)
		sum += out[c]
	}
	for c := range out {
		out[c] /= sum
	}
	return out
}

// Quantize rounds each weight to one of 255 steps. It returns the size of a step, and a signed byte for each weight.
func Quantize(weights []float32) (step float32, out []byte) {
	for _, w := range weights {
		step = max(step, w, -w)
	}
	step /= math.MaxInt8
	out = make([]byte, len(weights))
	for i, w := range weights {
		if step > 0 {
			out[i] = byte(int8(math.Round(float64(w / step))))
		}
	}
	return step, out
}
