package text

import (
	"math"
	"strings"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// SearchTerms returns the terms of a text for a lexical index, in the detected language. See Language.SearchTerms.
func SearchTerms(said string) []string { return Detect(said, English).SearchTerms(said) }

// SearchTerms returns the terms of a text in this language for a lexical index. Terms are the text's words and
// numbers in order, with repetitions, in lower case, stemmed and without accents. Stop words, question words and
// possessive endings are removed. Documents and queries must both pass through it. A hyphenated word becomes its
// parts. A number or date of several parts is also kept whole, so "2023-05-01" finds both "2023-05-01" and "2023".
// In a script without spaces, every two neighbouring characters are a term. No term contains white space. A text of
// stop words alone has no terms.
func (l Language) SearchTerms(said string) []string {
	said = l.Plain(said)
	words := Words(said)
	terms := make([]string, 0, len(words))
	for i := range words {
		terms = l.appendTerms(terms, said, words, i)
	}
	return terms
}

// Plain returns a text in the form for comparisons of words. English loses its accents. The stemmers of other
// languages need them.
func (l Language) Plain(said string) string {
	if !l.stems() {
		return foldAccents(said)
	}
	return norm.NFKC.String(said)
}

// WordTerms returns the search terms of word i of a Plain text, as SearchTerms of the whole text has them.
func (l Language) WordTerms(said string, words []Word, i int) []string {
	return l.appendTerms(nil, said, words, i)
}

// IsFiller reports whether word i of a text is a filler in this language.
func (l Language) IsFiller(said string, words []Word, i int) bool {
	if !l.stems() {
		return IsFiller(said, words, i)
	}
	return l.IsStopWord(words[i].Lower)
}

func (l Language) appendTerms(terms []string, said string, words []Word, i int) []string {
	w := words[i]
	if l.IsFiller(said, words, i) {
		return terms
	}
	if IsUnspaced(w.Lower) {
		return l.appendRuns(terms, w.Lower)
	}
	if !strings.ContainsAny(w.Lower, l.inner()) {
		return appendTerm(terms, l.Stem(w.Lower))
	}
	if w.Number {
		terms = append(terms, w.Lower)
	}
	for part := range strings.FieldsFuncSeq(w.Lower, func(r rune) bool { return strings.ContainsRune(l.inner(), r) }) {
		if !l.IsStopWord(part) {
			terms = appendTerm(terms, l.Stem(part))
		}
	}
	return terms
}

// appendTerm appends a term, unless nothing is left of it without its accents.
func appendTerm(terms []string, term string) []string {
	if term == "" {
		return terms
	}
	return append(terms, term)
}

// appendRuns appends the terms of a word that is in part of a script without spaces.
func (l Language) appendRuns(terms []string, word string) []string {
	for run, unspaced := range runs(word) {
		if unspaced {
			terms = appendBigrams(terms, run)
		} else if part := strings.Trim(run, "-'.,:"); part != "" && !l.IsStopWord(part) {
			terms = appendTerm(terms, l.Stem(part))
		}
	}
	return terms
}

// inner returns the signs that split a word. Outside English, a part before an apostrophe is a separate word ("l'île").
func (l Language) inner() string {
	if !l.stems() {
		return "-"
	}
	return "-'"
}

// foldAccents takes accents off, because queries are often typed without; ASCII is the fast path. Marks that make
// another sound of a letter stay.
func foldAccents(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) < 0 {
		return text
	}
	// The chain keeps state, so each call has its own.
	folded, _, err := transform.String(transform.Chain(norm.NFKD, runes.Remove(runes.Predicate(isAccent)), norm.NFC), text)
	if err != nil {
		return text // it never is: neither step refuses any input
	}
	return folded
}

func isAccent(r rune) bool {
	const voiced, halfVoiced = '\u3099', '\u309a'
	return unicode.Is(unicode.Mn, r) && unicode.In(r, unicode.Inherited, unicode.Arabic, unicode.Hebrew) && r != voiced &&
		r != halfVoiced
}

// BM25 scores how well a document answers a word, from counts alone. K1 says how much repetitions count, B how much
// length is held against a document.
type BM25 struct{ K1, B float64 }

// Weight returns the score of a document for a word with this count. length is the document's length relative to
// the mean length.
func (p BM25) Weight(count, length float64) float64 {
	return count * (p.K1 + 1) / (count + p.K1*(1-p.B+p.B*length))
}

// TermCounts is a document as BM25 sees it.
type TermCounts struct {
	Counts map[string]int
	Length int
}

// CountTerms counts the terms of a document.
func CountTerms(terms []string) TermCounts {
	d := TermCounts{Counts: map[string]int{}, Length: len(terms)}
	for _, t := range terms {
		d.Counts[t]++
	}
	return d
}

// Scores returns the score of each document for the terms of a query. The score is 0 for a document without any of
// the terms.
func (p BM25) Scores(query []string, documents []TermCounts) []float64 {
	total := 0
	for _, d := range documents {
		total += d.Length
	}
	mean := float64(total) / float64(max(1, len(documents)))
	scores := make([]float64, len(documents))
	for _, t := range query {
		holders := 0
		for _, d := range documents {
			if d.Counts[t] > 0 {
				holders++
			}
		}
		idf := InverseFrequency(holders, len(documents))
		for i, d := range documents {
			if n := d.Counts[t]; n > 0 {
				scores[i] += idf * p.Weight(float64(n), float64(d.Length)/mean)
			}
		}
	}
	return scores
}

// InverseFrequency returns the weight of a word by its document frequency. The weight is high for a rare word.
func InverseFrequency(holders, documents int) float64 {
	return math.Log1p((float64(documents-holders) + 0.5) / (float64(holders) + 0.5))
}
