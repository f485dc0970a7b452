package recall

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/text"
)

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

// TurnSearch is BM25 over a user's raw turns, in process, with the parameters of the bank: what a recall without memories would find.
type TurnSearch struct {
	terms     Terms
	shown     []score.Shown
	documents []text.TermCounts
}

// NewTurnSearch indexes turns. What is indexed of a turn, and shown, is what shown returns.
func NewTurnSearch(turns []memory.Turn, shown func(memory.Turn) string, terms Terms) *TurnSearch {
	s := &TurnSearch{terms: terms}
	for _, t := range turns {
		s.shown = append(s.shown, score.Shown{Sources: []string{t.ID}, Text: shown(t)})
		s.documents = append(s.documents, text.CountTerms(terms(shown(t))))
	}
	return s
}

// Find returns the turns that share a word with the query, best first; equal ones in their own order.
func (s *TurnSearch) Find(query string) []score.Shown {
	asked := s.terms(query)
	slices.Sort(asked)
	scores := bank.BM25.Scores(slices.Compact(asked), s.documents)
	var order []int
	for i, score := range scores {
		if score > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	out := make([]score.Shown, len(order))
	for i, at := range order {
		out[i] = s.shown[at]
	}
	return out
}

// spoken is a turn as one reads it: the speaker, what was said, and what an image shows.
func spoken(t memory.Turn) string {
	return strings.TrimSpace(t.Speaker + ": " + said(t) + " " + t.Caption)
}

// said is a turn's text alone.
func said(t memory.Turn) string { return t.Text }

// history is all that was said, newest first.
func history(turns []memory.Turn) []score.Shown {
	sorted := slices.Clone(turns)
	slices.SortStableFunc(sorted, func(a, b memory.Turn) int { return a.Time.Compare(b.Time) })
	out := make([]score.Shown, len(sorted))
	for i, t := range sorted {
		out[len(sorted)-1-i] = score.Shown{Sources: []string{t.ID}, Text: spoken(t)}
	}
	return out
}
