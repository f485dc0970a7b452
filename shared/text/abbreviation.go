package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// beforeNames are abbreviations before a name or another word, which end no sentence. None is a common word.
	beforeNames = wordLists.Set("beforeNames")
	// within are abbreviations that end no sentence, before any word.
	within = WordSet(`z.b d.h u.a i.d.r bzw sog vgl e.g i.e cf viz vs approx p.ej p.ex p.es т.е т.к напр bijv m.a.w
		tzn tj örn`)
	// lettered nouns stand before a letter that names one of them: "vitamin C".
	lettered = wordLists.Set("lettered")
)

// mostBesideDot is how many bytes beside a dot show whether it ends a sentence.
const mostBesideDot = 40

// IsAbbreviated reports whether the dot at the end of a text belongs to an abbreviation or an initial, so that the
// words behind it are of the same sentence: "Dr." before "Huber".
func IsAbbreviated(before, behind string) bool {
	before, behind = before[max(0, len(before)-mostBesideDot):], behind[:min(len(behind), mostBesideDot)]
	before = strings.TrimRight(before, " \t\u00a0\u202f\"'“”„«»*_()")
	said, dotted := strings.CutSuffix(before, ".")
	behind = strings.TrimLeft(behind, " \t\u00a0\u202f")
	next, size := utf8.DecodeRuneInString(behind)
	if !dotted || !unicode.IsLetter(next) && !unicode.IsDigit(next) && !strings.ContainsRune(`"“„«(`, next) {
		return false
	}
	from := strings.LastIndexAny(said, " \t\n\u00a0\u202f(\"“„«—–")
	last := said
	if from >= 0 {
		_, n := utf8.DecodeRuneInString(said[from:])
		last = said[from+n:]
	}
	lower := strings.ToLower(last)
	if within[lower] {
		return true
	}
	follows, _, _ := strings.Cut(strings.TrimRight(firstOf(behind), ".,;:!?"), "'")
	isName := unicode.IsUpper(next) && !isOpening(strings.ToLower(follows))
	if beforeNames[lower] || beforeNames[foldAccents(lower)] {
		return isName || unicode.IsLower(next) && lower != "st" || unicode.IsDigit(next)
	}
	letter, n := utf8.DecodeRuneInString(last)
	if n != len(last) || !unicode.IsLetter(letter) || last == "I" {
		return false
	}
	if initial := strings.HasPrefix(behind[size:], "."); initial && unicode.IsLetter(next) {
		return true // "z. B.", "J. R."
	}
	words := Words(said[:max(0, from)])
	if !unicode.IsUpper(letter) || !isName || len(words) == 0 {
		return unicode.IsUpper(letter) && isName
	}
	word := words[len(words)-1]
	return !lettered[word.Lower] && (word.Capital || letter == 'M') // "Ana M. Lopez", "avec M. Durand"
}

// firstOf returns the first word of a text.
func firstOf(s string) string {
	if end := strings.IndexFunc(s, unicode.IsSpace); end >= 0 {
		return s[:end]
	}
	return s
}

// isOpening reports whether a word in lower case often begins a sentence: a stop word of some language.
func isOpening(lower string) bool {
	return stopLanguages()[lower] != 0 && !nameParticles[lower] || selfSubjects[lower]
}
