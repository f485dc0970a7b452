package baseline

import (
	"cmp"
	"slices"

	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/text"
)

// Search finds documents for a query, best first, without anything that Mneme has learned. It is safe for concurrent use.
type Search struct {
	documents []score.Shown
	// scores are those of all documents; one of above or less is not found.
	scores func(query string) []float64
	above  float64
}

// Find returns the documents that answer a query at all, best first; equal ones in their own order.
func (s *Search) Find(query string) []score.Shown {
	scores := s.scores(query)
	var order []int
	for i, score := range scores {
		if score > s.above {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	out := make([]score.Shown, len(order))
	for i, at := range order {
		out[i] = s.documents[at]
	}
	return out
}

// Terms analyses a text for word search.
type Terms func(text string) []string

// PlainTerms are the words of a text in lower case: neither stemmed nor filtered.
func PlainTerms(said string) []string {
	words := text.Words(said)
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.Lower
	}
	return out
}

// Words is BM25 with the parameters of the bank; it finds the documents that share a word with the query.
func Words(documents []score.Shown, terms Terms) *Search {
	counted := make([]text.TermCounts, len(documents))
	for i, d := range documents {
		counted[i] = text.CountTerms(terms(d.Text))
	}
	return &Search{documents: documents, scores: func(query string) []float64 {
		asked := terms(query)
		slices.Sort(asked)
		return bank.BM25.Scores(slices.Compact(asked), counted)
	}}
}
