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
	for i, w := range words {
		if !IsStopWord(w.Lower) || IsNamesake(text, words, i) {
			terms = appendTerms(terms, w)
		}
	}
	return terms
}

func appendTerms(terms []string, w Word) []string {
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

// IsNamesake reports whether stop word i of a text is written as the name, or the month, that looks like it. At the beginning of a
// sentence a capital tells nothing; there it is one unless somebody follows, as in "Will Ana come?" and "May I?".
func IsNamesake(text string, words []Word, i int) bool {
	w := words[i]
	if name := strings.TrimSuffix(w.Lower, "'s"); !w.Capital || name != "may" && name != "will" {
		return false
	}
	if i+1 == len(words) || w.Lower != "may" && w.Lower != "will" {
		return true
	}
	opens := i == 0 || strings.ContainsAny(text[words[i-1].End:w.Start], ".!?\n")
	next := words[i+1]
	somebody := next.Capital || subjects[next.Lower]
	return !opens || !somebody || strings.TrimSpace(text[w.End:next.Start]) != ""
}

// subjects follow an auxiliary that asks.
var subjects = WordSet(`i you he she it we they the a an my your his her its our their this that these those there any some all
somebody someone anybody anyone everybody everyone`)

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
