package baseline

import (
	"cmp"
	"slices"

	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/text"
)

// Search ranks documents for a query, best first. It uses no memories of Mneme. It is safe for concurrent use.
type Search struct {
	documents []score.Shown
	// scores holds one score per document. A document that scores no more than above is left out.
	scores func(query string) []float64
	above  float64
}

// Find returns the documents that match the query, best first. Equal scores keep the documents' order.
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

// Terms splits a text into terms for word search.
type Terms func(text string) []string

// PlainTerms returns the words of a text in lower case, without stemming or filtering.
func PlainTerms(said string) []string {
	words := text.Words(said)
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.Lower
	}
	return out
}

// Words is BM25 with the bank's parameters. It finds the documents that share a word with the query.
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
