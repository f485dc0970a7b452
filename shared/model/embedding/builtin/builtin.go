// Package builtin is an embedder without a model. It uses signed feature hashing of words, word pairs, character
// n-grams and a small list of concepts. It is deterministic, equal on every machine, and fast enough for every
// turn. It knows the meaning of words only from its word lists. A real embedding model recalls paraphrases better.
package builtin

import (
	"context"
	_ "embed"
	"math"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/kljensen/snowball/english"

	"github.com/mneme-memory/mneme/shared/model/embedding"
)

const (
	// Dimension is the length of the vectors.
	Dimension = 256
	// Model is name and version. The version goes up with any change of any vector.
	Model = "mneme-hash-256-v2"

	// maxStemmed is the length in bytes beyond which a string of letters is no English word.
	maxStemmed = 40
)

// Embedder is an embedding.Embedder without a model. It is safe for concurrent use.
type Embedder struct {
	lexicon *lexicon
}

var _ embedding.Embedder = (*Embedder)(nil)

// New makes an embedder.
func New() *Embedder { return &Embedder{lexicon: newLexicon()} }

// Dimension implements embedding.Embedder.
func (e *Embedder) Dimension() int { return Dimension }

// Model implements embedding.Embedder.
func (e *Embedder) Model() string { return Model }

// Embed implements embedding.Embedder. A text without letters and digits gives the zero vector. Embed fails only
// when ctx is done.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = e.embed(text)
	}
	return out, nil
}

func (e *Embedder) embed(text string) []float32 {
	var s sums
	words := tokens(text)
	terms, order := e.terms(words)
	for _, t := range terms {
		e.addTerm(&s, t)
	}
	addPairs(&s, terms, order)
	for _, w := range words {
		if w.unspaced {
			s.run(w.text, wordWeight)
		}
	}
	return s.unit()
}

// terms returns the distinct words in order of first appearance. It also returns the indexes of the words that
// count, in order of the text.
func (e *Embedder) terms(words []token) (terms []term, order []int) {
	places := make(map[string]int, len(words))
	order = make([]int, 0, len(words))
	terms = make([]term, 0, len(words))
	for _, w := range words {
		if w.unspaced {
			continue
		}
		at, seen := places[w.text]
		if !seen {
			at = len(terms)
			places[w.text] = at
			terms = append(terms, e.term(w))
		}
		terms[at].count++
		if terms[at].weight > stopWeight {
			order = append(order, at)
		}
	}
	return terms, order
}

func (e *Embedder) term(w token) term {
	if w.number {
		return term{stem: w.text, weight: numberWeight}
	}
	weight := e.lexicon.weight(w.text)
	if weight <= stopWeight {
		return term{stem: w.text, weight: weight}
	}
	if len(w.text) > maxStemmed {
		return term{stem: w.text, weight: weight}
	}
	return term{stem: english.Stem(w.text, true), weight: weight}
}

// addTerm adds a word with its grams and concepts. The square root of the count damps repetition. Unlike a
// logarithm, it is exact on every machine.
func (e *Embedder) addTerm(s *sums, t term) {
	weight := float64(t.weight * math.Sqrt(float64(t.count)))
	s.add(xxhash.Sum64String(t.stem)^kindWord, float64(weight*wordWeight))
	if t.weight > stopWeight {
		s.grams(t.stem, float64(weight*gramsWeight))
	}
	concepts := e.lexicon.concepts[t.stem]
	if len(concepts) == 0 {
		return
	}
	each := float64(conceptWeight*weight) / math.Sqrt(float64(len(concepts)))
	for _, concept := range concepts {
		s.add(xxhash.Sum64String(concept)^kindConcept, each)
	}
}

// addPairs adds the pairs of neighbouring words, without stop words.
func addPairs(s *sums, terms []term, order []int) {
	counts := make(map[uint64]int, len(order))
	for i := 1; i < len(order); i++ {
		counts[pair(terms[order[i-1]].stem, terms[order[i]].stem)]++
	}
	for i := 1; i < len(order); i++ {
		first, second := terms[order[i-1]], terms[order[i]]
		hash := pair(first.stem, second.stem)
		if n := counts[hash]; n > 0 {
			counts[hash] = 0
			weight := math.Sqrt(float64(first.weight * second.weight * float64(n)))
			s.add(hash, float64(bigramWeight*weight))
		}
	}
}

// sharedLexicon is read-only. The first call makes it.
var sharedLexicon = sync.OnceValue(newLexicon)

// Concepts returns the names of the concepts of concepts.txt that a word belongs to. The argument is the English
// (Snowball) stem in lower case. Most words have no concept. Words of near meaning share one: "moved" and "lives"
// both have "live". Callers must not change the result.
func Concepts(stem string) []string { return sharedLexicon().concepts[stem] }

//go:embed words.txt
var wordList string

//go:embed concepts.txt
var conceptList string

// lexicon is the embedder's information about words. It is read-only after its creation.
type lexicon struct {
	stop, common map[string]struct{}
	// concepts maps a stem to the names of its concepts.
	concepts map[string][]string
}

func newLexicon() *lexicon {
	l := &lexicon{stop: map[string]struct{}{}, common: map[string]struct{}{}, concepts: map[string][]string{}}
	classes := map[string]map[string]struct{}{"stop": l.stop, "common": l.common}
	for name, words := range entries(wordList) {
		for _, word := range words {
			classes[name][word] = struct{}{}
		}
	}
	for name, words := range entries(conceptList) {
		for _, word := range words {
			l.add(english.Stem(word, true), name)
		}
	}
	return l
}

func (l *lexicon) add(stem, concept string) {
	for _, have := range l.concepts[stem] {
		if have == concept {
			return
		}
	}
	l.concepts[stem] = append(l.concepts[stem], concept)
}

// weight returns the weight of a word by its class.
func (l *lexicon) weight(word string) float64 {
	if _, ok := l.stop[word]; ok {
		return stopWeight
	}
	if _, ok := l.common[word]; ok {
		return commonWeight
	}
	return 1
}

// entries yields the lines "name: words" of a list, in order.
func entries(list string) func(yield func(string, []string) bool) {
	return func(yield func(string, []string) bool) {
		for line := range strings.Lines(list) {
			name, words, ok := strings.Cut(line, ":")
			if !ok || strings.HasPrefix(line, "#") {
				continue
			}
			if !yield(name, strings.Fields(words)) {
				return
			}
		}
	}
}
