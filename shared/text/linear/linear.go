// Package linear classifies a short text by its words. It is a logistic regression over words, marks and pairs of
// neighbours. It works in the language of its training. For a text that it cannot read, it returns the usual score.
//
// The model treats a text only as data: the text affects only its own score.
package linear

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrModel says that a file is no model of this package.
var ErrModel = errors.New("not a linear model of words")

// mostTokens bounds the tokens that the model reads. A longer text was pasted, and contains little about the user.
const mostTokens = 300

// Model is a trained model as it stands in a file.
type Model struct {
	// Version is name and version of the model.
	Version string `json:"version"`
	// Training records the data and options of the training. Scoring does not need it.
	Training json.RawMessage `json:"training,omitempty"`
	// Bias is the log odds of a text without known terms. Weights holds the log odds that each term (Terms) adds,
	// once.
	Bias    float64            `json:"bias"`
	Weights map[string]float64 `json:"weights"`
}

// Parse reads a model's JSON. The error for invalid JSON is an ErrModel.
func Parse(data []byte) (*Model, error) {
	var m Model
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModel, err)
	}
	if m.Version == "" || len(m.Weights) == 0 {
		return nil, fmt.Errorf("%w: version %q, %d weights", ErrModel, m.Version, len(m.Weights))
	}
	return &m, nil
}

// Score is the probability, 0 to 1, that a text is positive by the model's training, if one text in two is
// positive.
func (m *Model) Score(said string) float64 {
	sum := m.Bias
	for _, t := range Terms(said) {
		sum += m.Weights[t]
	}
	return 1 / (1 + math.Exp(-sum))
}

// Terms are the words and marks of a text in lower case, and the pairs of neighbours, each once, in the order of
// the text.
func Terms(said string) []string {
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
