package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// beforeNames are abbreviations before a name or another word, which end no sentence.
	beforeNames = Union(titles, WordSet(`prof st ste hr fr frl dipl ing mag med rer phil hon rev gen col capt lt sgt
		messrs sres sras srta srtas dña dott dott.ssa avv sig sig.ra sig.na sigg mm mlles eng dra exmo exma mevr dhr drs
		pan inż mgr
		ул просп пр бул пер пл наб г-н г-жа д-р av avda bd blvd pza c/ ul al`))
	// within are abbreviations that end no sentence, before any word.
	within = WordSet(`z.b d.h u.a i.d.r bzw ca sog vgl e.g i.e cf viz vs approx p.ej p.ex ej p.es т.е т.к напр bijv m.a.w
		np tzn tj örn`)
	// lettered nouns stand before a letter that names one of them: "vitamin C".
	lettered = WordSet(`vitamin vitamins plan type group class grade option level hepatitis team section point exhibit
		appendix gate room unit
		gruppe klasse typ option vitamina grupo tipo clase opción groupe vitamine classe gruppo part`)
)

// IsAbbreviated reports whether the dot at the end of a text belongs to an abbreviation or an initial, so that the words
// behind it are of the same sentence: "Dr." before "Huber".
func IsAbbreviated(before, behind string) bool {
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
	words := strings.Fields(said[:max(0, from)])
	labels := len(words) > 0 && lettered[strings.ToLower(words[len(words)-1])]
	return unicode.IsUpper(letter) && isName && !labels
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
