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
	terms   Terms
	shown   []score.Shown
	counts  []map[string]int
	lengths []int
	holders map[string]int
	mean    float64
}

// NewTurnSearch indexes turns. What is indexed of a turn, and shown, is what text returns.
func NewTurnSearch(turns []memory.Turn, text func(memory.Turn) string, terms Terms) *TurnSearch {
	s := &TurnSearch{terms: terms, holders: map[string]int{}}
	total := 0
	for _, t := range turns {
		counts := map[string]int{}
		found := terms(text(t))
		for _, w := range found {
			counts[w]++
		}
		for w := range counts {
			s.holders[w]++
		}
		total += len(found)
		s.shown = append(s.shown, score.Shown{Sources: []string{t.ID}, Text: text(t)})
		s.counts, s.lengths = append(s.counts, counts), append(s.lengths, len(found))
	}
	s.mean = float64(total) / float64(max(1, len(turns)))
	return s
}

// Find returns the turns that share a word with the query, best first; equal ones in their own order.
func (s *TurnSearch) Find(query string) []score.Shown {
	scores := make([]float64, len(s.shown))
	asked := s.terms(query)
	slices.Sort(asked)
	for _, w := range slices.Compact(asked) {
		idf := text.InverseFrequency(s.holders[w], len(s.shown))
		for i, counts := range s.counts {
			if n := counts[w]; n > 0 {
				scores[i] += idf * bank.BM25.Weight(float64(n), float64(s.lengths[i])/s.mean)
			}
		}
	}
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
