// Package linear tells of a short text by its words: a logistic regression over words, marks and pairs of neighbours. It knows the language
// that it was trained on; of what it cannot read it says what is usual.
//
// What a text says is only ever text: it steers nothing but its own score.
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

// mostTokens bounds how much of a text is read: what is longer was pasted, and tells more of itself than of the user.
const mostTokens = 300

// Model is a trained model as it stands in a file.
type Model struct {
	// Version is name and version of the model.
	Version string `json:"version"`
	// Training says what it was made from and by which options; scoring does not need it.
	Training json.RawMessage `json:"training,omitempty"`
	// Bias is the log odds of a text without known terms; Weights is what each term (Terms) adds, once.
	Bias    float64            `json:"bias"`
	Weights map[string]float64 `json:"weights"`
}

// Parse reads a model's JSON. What is none is an ErrModel.
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

// Score is the probability, 0 to 1, that a text is what the model was trained to find, where one text in two is such.
func (m *Model) Score(said string) float64 {
	sum := m.Bias
	for _, t := range Terms(said) {
		sum += m.Weights[t]
	}
	return 1 / (1 + math.Exp(-sum))
}

// Terms are the words and marks of a text in lower case, and the pairs of neighbours, each once, in the order of the text.
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
