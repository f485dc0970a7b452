package baseline

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/text"
)

// SoftMatch compares texts by word vectors. For each query word, a document scores the cosine of its nearest word,
// weighted by the rarity of the query word. Stop words and words without a vector do not count.
func SoftMatch(documents []score.Shown, table *wordvector.Table) *Search {
	return &Search{documents: documents, scores: newSoftMatch(documents, table).scores}
}

type softMatch struct {
	table *wordvector.Table
	// words are the words that occur, by their number in the table. documents hold indexes into words, each once.
	words     []int32
	documents [][]int
	// holders counts the documents that contain each word.
	holders map[int32]int
}

func newSoftMatch(documents []score.Shown, table *wordvector.Table) *softMatch {
	s := &softMatch{table: table, documents: make([][]int, len(documents)), holders: map[int32]int{}}
	places := map[int32]int{}
	for i, d := range documents {
		for _, w := range s.known(d.Text) {
			place, ok := places[w]
			if !ok {
				place = len(s.words)
				places[w], s.words = place, append(s.words, w)
			}
			s.documents[i] = append(s.documents[i], place)
			s.holders[w]++
		}
	}
	return s
}

// known returns the content words of a text that have a vector, each once.
func (s *softMatch) known(said string) []int32 {
	var out []int32
	for _, w := range text.Words(said) {
		for part := range strings.SplitSeq(w.Lower, "-") {
			if text.IsStopWord(part) {
				continue
			}
			if i, ok := s.table.Find(part); ok {
				out = append(out, i)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (s *softMatch) scores(query string) []float64 {
	scores, near := make([]float64, len(s.documents)), make([]float64, len(s.words))
	for _, asked := range s.known(query) {
		for place, w := range s.words {
			near[place] = float64(s.table.Similarity(asked, w))
		}
		idf := text.InverseFrequency(s.holders[asked], len(s.documents))
		for i, places := range s.documents {
			best := 0.0
			for _, place := range places {
				best = max(best, near[place])
			}
			scores[i] += idf * best
		}
	}
	return scores
}

// preferenceWords are the stems of words that often state preferences, habits and limits.
var preferenceWords = func() map[string]bool {
	stems := map[string]bool{}
	for word := range strings.FieldsSeq(
		"prefer avoid never always usually rather hate love like dislike enjoy favorite allergic cannot can't refuse only",
	) {
		stems[text.Stem(word)] = true
	}
	return stems
}()

// Preferences adds three scores: BM25, SoftMatch and the number of preference words. Each score is standardised over
// the documents of a query, so that all three weigh the same. It returns all documents.
func Preferences(documents []score.Shown, terms Terms, table *wordvector.Table) *Search {
	words, soft, told := Words(documents, terms), newSoftMatch(documents, table), make([]float64, len(documents))
	for i, d := range documents {
		for _, w := range text.Words(d.Text) {
			if preferenceWords[text.Stem(w.Lower)] {
				told[i]++
			}
		}
	}
	return &Search{documents: documents, above: math.Inf(-1), scores: func(query string) []float64 {
		sum := make([]float64, len(documents))
		for _, scores := range [...][]float64{words.scores(query), soft.scores(query), told} {
			floats.Add(sum, standardised(scores))
		}
		return sum
	}}
}

// standardised scales values to mean 0 and standard deviation 1. Equal values become zeros.
func standardised(values []float64) []float64 {
	out := make([]float64, len(values))
	if mean, deviation := stat.PopMeanStdDev(values, nil); deviation > 0 {
		for i, v := range values {
			out[i] = (v - mean) / deviation
		}
	}
	return out
}
