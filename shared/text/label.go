package text

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// names.txt lists given names and forms of address within a family.
//
//go:embed names.txt
var nameList string

// headings.txt lists words that open a line as its heading, words for oneself, and names of assistants.
//
//go:embed headings.txt
var headingList string

var (
	// labelled is a line that a label opens: group 1 is the label, group 2 the rest.
	labelled = regexp.MustCompile(`^[\s\pZ]*(?:\[[\d:., ]+\] ?)?[*_•-]*[\s\pZ]*(\pL[\pL\pM\pN.;'’ -]{0,30}?)(?: ?\([\d:., ]+\))?[*_]*` +
		`(?::[*_]*[\s\pZ]+|：)(.*[\pL\pN].*)$`)
	// titles stand before a surname, honorifics behind a name.
	titles = WordSet(`dr mr mrs ms miss mx herr frau senor senora sr sra don dona monsieur madame mme mlle senhor senhora signor
		signora mevrouw meneer`)
	honorifics = []string{"さん", "くん", "君", "ちゃん", "様", "さま", "先生", "女士", "小姐", "씨", "님"}
	// nameParticles are small words within a name.
	nameParticles = WordSet("de da do dos das del della di van von der den la le el al bin ibn y e")

	names    = sync.OnceValue(func() map[string]bool { return WordSet(foldAccents(nameList)) })
	headings = sync.OnceValue(func() map[string]bool { return WordSet(foldAccents(headingList)) })
	// selves are the words for oneself of all languages whose words mean nothing else in the others.
	selves = sync.OnceValue(func() map[string]bool {
		out := map[string]bool{}
		for code, words := range selfWords {
			if code != "hu" { // "en" and "my" are common words elsewhere
				out = Union(out, words)
			}
		}
		return out
	})
)

// maxLabelWords is how many words a label has at most, particles aside; maxUnspacedLabel how many characters without spaces.
const maxLabelWords, maxUnspacedLabel = 3, 8

// label says whose line a label makes.
type label int

const (
	// noLabel is of a line without a label that may name somebody.
	noLabel label = iota
	// headingLabel is a heading, or a word for oneself.
	headingLabel
	// speakerLabel names the speaker.
	speakerLabel
	// unsureLabel may name somebody else.
	unsureLabel
	// othersLabel names somebody else, who speaks.
	othersLabel
)

// labelOf reads the label of a line that a speaker says. A known name before a statement in the first person is another speaker's. Any other
// capitalised words before one may be.
func labelOf(line, speaker string) label {
	at := labelled.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
	if at == nil {
		return noLabel
	}
	said, rest := at[1], at[2]
	var words []string
	for w := range strings.FieldsSeq(foldAccents(strings.ToLower(said))) {
		words = append(words, strings.Trim(w, ".'’-"))
	}
	switch {
	case len(words) == 0:
		return noLabel
	case isSpeaker(words, speaker):
		return speakerLabel
	case isHeading(words):
		return headingLabel
	case !isNameShaped(said):
		return noLabel
	}
	switch first, named := saysSelf(rest), namesPerson(said, words); {
	case first && named:
		return othersLabel
	case first || named:
		return unsureLabel
	}
	return noLabel
}

func isSpeaker(words []string, speaker string) bool {
	for name := range strings.FieldsSeq(foldAccents(strings.ToLower(speaker))) {
		if slices.Contains(words, name) {
			return true
		}
	}
	return false
}

// isHeading reports whether a label has a word of a heading; without spaces between words, whether it is, begins with or ends in one.
func isHeading(words []string) bool {
	known := headings()
	if slices.ContainsFunc(words, func(w string) bool { return known[w] || stopLanguages()[w] != 0 && !names()[w] && !nameParticles[w] }) {
		return true
	}
	if len(words) != 1 || !IsUnspaced(words[0]) {
		return false
	}
	const least = 2
	r := []rune(words[0])
	for n := least; n < len(r); n++ {
		if known[string(r[:n])] || known[string(r[len(r)-n:])] {
			return true
		}
	}
	return false
}

// isNameShaped reports whether a label is written as a name: a few words that begin with a capital, or some characters of a script
// without capitals.
func isNameShaped(said string) bool {
	n := 0
	for w := range strings.FieldsSeq(said) {
		first, _ := utf8.DecodeRuneInString(w)
		switch {
		case nameParticles[w]:
		case unicode.IsUpper(first), unicode.Is(unicode.Lo, first) && utf8.RuneCountInString(w) <= maxUnspacedLabel:
			n++
		default:
			return false
		}
	}
	return n > 0 && n <= maxLabelWords
}

// namesPerson reports whether a label begins with a given name, or has a title or an honorific.
func namesPerson(said string, words []string) bool {
	return names()[words[0]] || len(words) > 1 && titles[words[0]] ||
		slices.ContainsFunc(honorifics, func(h string) bool { return strings.HasSuffix(said, h) && len(said) > len(h) })
}

// saysSelf reports whether a statement speaks of its speaker, in any language.
func saysSelf(said string) bool {
	if SubjectOf(said).Speaker {
		return true
	}
	self := selves()
	for _, w := range Words(said) {
		first, _, _ := strings.Cut(foldAccents(w.Lower), "'")
		if self[first] {
			return true
		}
	}
	for _, code := range [...]string{"ja", "zh", "th"} {
		for w := range selfWords[code] {
			if strings.Contains(said, w) {
				return true
			}
		}
	}
	return strings.Contains(said, "저") || strings.Contains(said, "나는") || strings.Contains(said, "내 ")
}
