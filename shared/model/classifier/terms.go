package classifier

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

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

// Score is the probability, 0 to 1, that a text is positive by the model's training, if one text in two is
// positive.
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
