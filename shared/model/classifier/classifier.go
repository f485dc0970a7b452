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
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
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

// mostTokens bounds the tokens that Terms reads. A longer text was pasted, and contains little about the user.
const mostTokens = 300

// Terms is a logistic regression over the words, marks and pairs of neighbours of a text. It works in the language of
// its training. For a text that it cannot read, it returns the usual score.
type Terms struct {
	Header
	// Bias is the log odds of a text without known terms. Weights holds the log odds that each term (TermsOf) adds,
	// once.
	Bias    float64            `json:"bias"`
	Weights map[string]float64 `json:"weights"`
	// Threshold is the least score of a positive text, 0 to 1. It is 0 for a model that only scores.
	Threshold float64 `json:"threshold,omitempty"`
	// Words, sorted, are the words and marks of the positive texts of the training, for models that need them.
	Words []string `json:"words,omitempty"`
}

// Check reports why the model cannot score.
func (m *Terms) Check() error {
	if m.Version == "" || len(m.Weights) == 0 || !(m.Threshold >= 0 && m.Threshold < 1) {
		return fmt.Errorf("version %q, %d weights, threshold %v", m.Version, len(m.Weights), m.Threshold)
	}
	return nil
}

// Score is the probability, 0 to 1, that a text is positive by the model's training, if one text in two is positive.
func (m *Terms) Score(said string) float64 {
	sum := m.Bias
	for _, t := range TermsOf(said) {
		sum += m.Weights[t]
	}
	return 1 / (1 + math.Exp(-sum))
}

// TermsOf returns the words and marks of a text in lower case, and the pairs of neighbours, each once, in the order of
// the text.
func TermsOf(said string) []string {
	var out []string
	seen := map[string]bool{}
	add := func(term string) {
		if !seen[term] {
			seen[term] = true
			out = append(out, term)
		}
	}
	before, tokens := "", 0
	token := func(t string) {
		if t == "" {
			return
		}
		if tokens++; tokens > mostTokens {
			return
		}
		add(t)
		if before != "" {
			add(before + " " + t)
		}
		before = t
	}
	said = strings.ReplaceAll(strings.ToLower(said), "’", "'")
	begin := 0
	for i, c := range said {
		if unicode.IsLetter(c) || c == '\'' {
			continue
		}
		token(said[begin:i])
		begin = i + utf8.RuneLen(c)
		if strings.ContainsRune("?!.;,", c) {
			token(said[i:begin])
		}
	}
	token(said[min(begin, len(said)):])
	return out
}
