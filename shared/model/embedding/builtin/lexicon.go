package builtin

import (
	_ "embed"
	"strings"

	"github.com/kljensen/snowball/english"
)

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
