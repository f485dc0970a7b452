package text

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
	"github.com/blugelabs/bluge/analysis"
	"github.com/blugelabs/bluge/analysis/lang/ar"
	"github.com/blugelabs/bluge/analysis/lang/da"
	"github.com/blugelabs/bluge/analysis/lang/de"
	"github.com/blugelabs/bluge/analysis/lang/es"
	"github.com/blugelabs/bluge/analysis/lang/fi"
	"github.com/blugelabs/bluge/analysis/lang/fr"
	"github.com/blugelabs/bluge/analysis/lang/hu"
	"github.com/blugelabs/bluge/analysis/lang/it"
	"github.com/blugelabs/bluge/analysis/lang/nl"
	"github.com/blugelabs/bluge/analysis/lang/no"
	"github.com/blugelabs/bluge/analysis/lang/pt"
	"github.com/blugelabs/bluge/analysis/lang/ro"
	"github.com/blugelabs/bluge/analysis/lang/ru"
	"github.com/blugelabs/bluge/analysis/lang/sv"
	"github.com/blugelabs/bluge/analysis/lang/tr"
)

// Language is a language of text analysis. The zero Language is English. English rules apply to every text in none
// of the other languages. Scripts without spaces between words are cut alike in every Language.
type Language uint8

// English is the zero Language; the others that are named have a script for themselves.
const (
	English Language = iota
	arabicLanguage
	russianLanguage
	chineseLanguage
	japaneseLanguage
	koreanLanguage
	thaiLanguage
)

// languageEntry is a language by its code of ISO 639-1, with its stems and stop words where it has them.
type languageEntry struct {
	code  string
	stem  func(*snowballstem.Env) bool
	stops func() analysis.TokenMap
}

// languages are the Snowball languages that also have a list of stop words, and the languages without spaces, which
// have no stems.
var languages = [...]languageEntry{
	English: {code: "en"}, arabicLanguage: {"ar", arabic.Stem, ar.StopWords},
	russianLanguage: {"ru", russian.Stem, ru.StopWords}, chineseLanguage: {code: "zh"},
	japaneseLanguage: {code: "ja"}, koreanLanguage: {code: "ko"}, thaiLanguage: {code: "th"},
	{"da", danish.Stem, da.StopWords}, {"de", german.Stem, de.StopWords}, {"es", spanish.Stem, es.StopWords},
	{"fi", finnish.Stem, fi.StopWords}, {"fr", french.Stem, fr.StopWords}, {"hu", hungarian.Stem, hu.StopWords},
	{"it", italian.Stem, it.StopWords}, {"nl", dutch.Stem, nl.StopWords}, {"no", norwegian.Stem, no.StopWords},
	{"pt", portuguese.Stem, pt.StopWords}, {"ro", romanian.Stem, ro.StopWords}, {"sv", swedish.Stem, sv.StopWords},
	{"tr", turkish.Stem, tr.StopWords},
}

// String is the code of ISO 639-1.
func (l Language) String() string { return languages[l].code }

// stems reports whether its words have stems and stop words other than English ones.
func (l Language) stems() bool { return languages[l].stem != nil }

// languageSet has a bit for each Language.
type languageSet uint32

func (s languageSet) has(l Language) bool { return s&(1<<l) != 0 }

// stopLanguages has for each stop word the languages that it is one of.
var stopLanguages = sync.OnceValue(func() map[string]languageSet {
	out := map[string]languageSet{}
	for w := range stopWords {
		out[w] |= 1 << English
	}
	for l, language := range languages {
		if language.stops == nil {
			continue
		}
		for w := range language.stops() {
			out[w] |= 1 << l
			out[foldAccents(w)] |= 1 << l // typed without
		}
	}
	return out
})

// Tally counts the evidence for each language. The evidence is its stop words, which are about half of any text,
// and the words in a script that no other Language has.
type Tally [len(languages)]int

// TallyWords counts the words of a text, and the characters of scripts without spaces.
func TallyWords(words []Word) (t Tally) {
	stops := stopLanguages()
	for i, w := range words {
		if w.Capital && len(w.Lower) == 1 || i > 0 && w.Lower == words[i-1].Lower { // an initial, "ha ha"
			continue
		}
		set := stops[w.Lower]
		if short, _, ok := strings.Cut(w.Lower, "'"); ok && set == 0 {
			set = stops[short] // "l'île"
		}
		for l := 0; set != 0; l, set = l+1, set>>1 {
			t[l] += int(set & 1)
		}
		if w.Lower[0] >= utf8.RuneSelf || w.Number { // "3月"
			t.addScript(w.Lower)
		}
	}
	if t[japaneseLanguage] > 0 {
		t[japaneseLanguage], t[chineseLanguage] = t[japaneseLanguage]+t[chineseLanguage], 0
	}
	return t
}

func (t *Tally) addScript(word string) {
	for i, r := range word {
		switch {
		case i == 0 && unicode.Is(unicode.Cyrillic, r):
			t[russianLanguage]++
		case i == 0 && unicode.Is(unicode.Arabic, r):
			t[arabicLanguage]++
		case !unspaced(r):
		case unicode.Is(unicode.Han, r):
			t[chineseLanguage]++
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			t[japaneseLanguage]++
		case unicode.Is(unicode.Hangul, r):
			t[koreanLanguage]++
		case unicode.Is(unicode.Thai, r):
			t[thaiLanguage]++
		}
	}
}

// Add adds another tally.
func (t *Tally) Add(other Tally) {
	for l, n := range other {
		t[l] += n
	}
}

// Language returns the language with the most words, if it clearly leads the expected language. A single word may
// be a name, and many words are in several languages.
func (t Tally) Language(expected Language) Language {
	const more = 2
	best := expected
	for l, n := range t {
		if n >= t[expected]+more && n > t[best] {
			best = Language(l) //nolint:gosec // a few
		}
	}
	return best
}

// Foreign reports whether the words are another language's rather than English, however few they are.
func (t Tally) Foreign() bool { return slices.Max(t[:]) > t[English] }

// Detect returns the language of a text. A text without clear evidence, such as a short one, is in the expected
// language.
func Detect(said string, expected Language) Language {
	return TallyWords(Words(said)).Language(expected)
}

// IsStopWord reports whether a lower-case word is a stop word of this language.
func (l Language) IsStopWord(lower string) bool {
	if !l.stems() {
		return IsStopWord(lower)
	}
	return stopLanguages()[lower].has(l) || askingSet()[l][foldAccents(lower)]
}
