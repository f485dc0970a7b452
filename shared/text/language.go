// Package text is the text analysis that the embedded policies share: sentences, words, stems, stop words and dates. It
// is pure and deterministic, takes any input without panicking, and never returns invalid UTF-8 for valid input.
package text

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/kljensen/snowball/english"
)

// maxStemBytes bounds the input of stemming. A longer text is not a word, and stemming is quadratic.
const maxStemBytes = 64

// Word is one word or number of a text.
type Word struct {
	// Start and End are byte offsets: text[Start:End] is the word as it was written.
	Start, End int
	// Lower is the word in lower case with a straight apostrophe.
	Lower string
	// Capital is whether the word starts with an upper-case letter.
	Capital bool
	// Number is whether the word starts with a digit.
	Number bool
}

// Words returns the words of a text in order. Apostrophes and hyphens inside a word belong to
// it, and so do points and commas between digits.
func Words(text string) []Word {
	words := make([]Word, 0, len(text)/5+1)
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !isWordRune(r) {
			i += size
			continue
		}
		end := wordEnd(text, i)
		words = append(words, newWord(text, i, end, r))
		i = end
	}
	return words
}

func newWord(text string, start, end int, first rune) Word {
	lower := strings.ToLower(text[start:end])
	if strings.ContainsRune(lower, '’') {
		lower = strings.ReplaceAll(lower, "’", "'")
	}
	return Word{Start: start, End: end, Lower: lower, Capital: unicode.IsUpper(first), Number: unicode.IsDigit(first)}
}

// wordEnd returns where the word that starts at start ends.
func wordEnd(text string, start int) int {
	end, last := start, rune(0)
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		if !isWordRune(r) {
			next, _ := utf8.DecodeRuneInString(text[end+size:])
			if !joins(last, r, next) {
				return end
			}
		}
		last, end = r, end+size
	}
	return end
}

// joins reports whether r, between two word runes, is part of the word.
func joins(last, r, next rune) bool {
	switch r {
	case '\'', '’', '-':
		return isWordRune(last) && isWordRune(next)
	case '.', ',', ':':
		return unicode.IsDigit(last) && unicode.IsDigit(next)
	}
	return false
}

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// Stem returns the Snowball (Porter 2) stem of a lower-case English word. A possessive ending is dropped first.
func Stem(word string) string { return English.Stem(word) }

// Stem returns the Snowball stem of a lower-case word of this language, without accents. A language without stems
// uses the English stemmer.
func (l Language) Stem(word string) string {
	if !l.stems() {
		word = strings.TrimSuffix(strings.TrimSuffix(word, "'s"), "'")
	}
	if len(word) > maxStemBytes || !utf8.ValidString(word) {
		return word
	}
	slot := &stems[(maphash.String(stemSeed, word)+uint64(l))%uint64(len(stems))]
	if known := slot.Load(); known != nil && known.word == word && known.language == l {
		return known.stem
	}
	known := &stemmed{word: strings.Clone(word), language: l}
	if !l.stems() {
		known.stem = english.Stem(known.word, true)
	} else {
		env := snowballstem.NewEnv(known.word)
		languages[l].stem(env)
		known.stem = foldAccents(env.Current())
	}
	slot.Store(known)
	return known.stem
}

// stemmed is a word with its stem.
type stemmed struct {
	word, stem string
	language   Language
}

// stems is a cache of recent words, one per slot. Few words are most of a text, and stemming one takes a microsecond.
var (
	stems    [1 << 13]atomic.Pointer[stemmed]
	stemSeed = maphash.MakeSeed()
)

// ContentStems returns the stems of the words that are not stop words, in order, with repetitions.
func ContentStems(text string) []string {
	words := Words(text)
	stems := make([]string, 0, len(words))
	for i, w := range words {
		if !IsFiller(text, words, i) {
			stems = append(stems, Stem(w.Lower))
		}
	}
	return stems
}

// StemSet returns the distinct content stems of a text.
func StemSet(text string) map[string]bool {
	stems := ContentStems(text)
	set := make(map[string]bool, len(stems))
	for _, s := range stems {
		set[s] = true
	}
	return set
}

// Canonical returns a text's words in lower case, one space apart. Texts that differ only in case, punctuation and
// spaces have an equal result.
func Canonical(text string) string {
	words := Words(text)
	lower := make([]string, len(words))
	for i, w := range words {
		lower[i] = w.Lower
	}
	return strings.Join(lower, " ")
}
