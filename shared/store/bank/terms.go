package bank

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/text"
)

// BM25 has the parameters for every back-end. Entries are short and much alike in length, so length is
// discounted, and a word's repetition counts, less than the textbook's 1.2 and 0.75 would have it:
// on dialogues that raised recall at 10 by two points.
var BM25 = text.BM25{K1: 0.9, B: 0.4}

// conceptMark begins the terms that stand for a concept; no word begins with it.
const conceptMark = "~"

// IndexText is what BM25 matches of an entry: the search terms, in its language, of content, speaker, value, topic, keywords and slot,
// and the concepts that they belong to, separated by white space. Back-ends index it by its white space
// and change nothing else about it, so that all of them rank alike. Names are not weighed down: that
// was measured to lose more than it wins.
func IndexText(m memory.Memory) string {
	in := text.Detect(m.Content+"\n"+m.Value, text.English)
	terms := in.SearchTerms(m.Content)
	for _, part := range append([]string{m.Speaker, m.Value, m.Topic, m.Slot}, m.Keywords...) {
		terms = append(terms, in.SearchTerms(part)...)
	}
	return strings.Join(withConcepts(terms), " ")
}

// QueryText is what BM25 looks for: a query's terms as IndexText has them, each once. Where it is in another language than English, its
// words are looked for as English ones as well: entries too short to tell their language are indexed so, and names are written alike. It
// is empty where the query has no word that carries content; then only the vector can find anything.
func QueryText(query string) string {
	in := text.Detect(query, text.English)
	terms := in.SearchTerms(query)
	if in != text.English {
		for _, w := range text.Words(query) {
			if !in.IsStopWord(w.Lower) {
				terms = append(terms, text.English.SearchTerms(w.Lower)...)
			}
		}
	}
	terms = withConcepts(terms)
	slices.Sort(terms)
	return strings.Join(slices.Compact(terms), " ")
}

// withConcepts appends the concepts of terms, one for each time a term has it.
func withConcepts(terms []string) []string {
	for _, t := range terms[:len(terms):len(terms)] {
		for _, concept := range builtin.Concepts(t) {
			terms = append(terms, conceptMark+concept)
		}
	}
	return terms
}
