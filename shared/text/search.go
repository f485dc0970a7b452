package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// SearchTerms returns what of a text a lexical index compares: its words and numbers in order, with
// repetitions, in lower case, without accents, stop words, question words and possessive endings, and
// stemmed. Documents and queries must both pass through it. A hyphenated word becomes its parts; a
// number or date of several parts is kept whole beside them, so that "2023-05-01" finds both
// "2023-05-01" and "2023". No term contains white space. A text of stop words alone has no terms.
func SearchTerms(text string) []string {
	text = foldAccents(text)
	words := Words(text)
	terms := make([]string, 0, len(words))
	for i := range words {
		terms = appendTerms(terms, text, words, i)
	}
	return terms
}

// WordTerms returns the search terms of word i of a text without accents, as they are among SearchTerms of all of it.
func WordTerms(text string, words []Word, i int) []string { return appendTerms(nil, text, words, i) }

func appendTerms(terms []string, text string, words []Word, i int) []string {
	w := words[i]
	if IsFiller(text, words, i) {
		return terms
	}
	if !strings.ContainsRune(w.Lower, '-') {
		return append(terms, Stem(w.Lower))
	}
	if w.Number {
		terms = append(terms, w.Lower)
	}
	for part := range strings.SplitSeq(w.Lower, "-") {
		if !IsStopWord(part) {
			terms = append(terms, Stem(part))
		}
	}
	return terms
}

// foldAccents takes accents off, because queries are often typed without; ASCII is the fast path.
func foldAccents(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) < 0 {
		return text
	}
	// The chain keeps state, so each call has its own.
	folded, _, err := transform.String(transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn)), norm.NFC), text)
	if err != nil {
		return text // it never is: neither step refuses any input
	}
	return folded
}
