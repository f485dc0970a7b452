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
	// titles stand before a surname, honorifics behind a name.
	titles = WordSet(`dr mr mrs ms miss mx herr frau senor senora sr sra don dona monsieur madame mme mlle senhor senhora
		signor signora mevrouw meneer`)
	honorifics = []string{"さん", "くん", "君", "ちゃん", "様", "さま", "先生", "女士", "小姐", "씨", "님"}
	// nameParticles are small words within a name.
	nameParticles = WordSet("de da do dos das del della di van von der den la le el al bin ibn y e")

	names    = sync.OnceValue(func() map[string]bool { return WordSet(foldAccents(nameList)) })
	headings = sync.OnceValue(func() map[string]bool { return WordSet(foldAccents(headingList)) })
	// selves are the words for the speaker in all languages, without words that mean something else in another
	// language.
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

// maxLabelWords is how many words a label has at most, particles aside; maxUnspacedLabel how many characters without
// spaces.
const maxLabelWords, maxUnspacedLabel = 4, 8

// label is the owner of a line by its label.
type label int

const (
	// noLabel is a line without a label that may be a name.
	noLabel label = iota
	// headingLabel is a heading, or a word for oneself.
	headingLabel
	// speakerLabel names the speaker.
	speakerLabel
	// maybeLabel is a name if other lines show it.
	maybeLabel
	// unsureLabel may be the name of another person.
	unsureLabel
	// othersLabel is the name of another person, who speaks.
	othersLabel
)

var (
	// origin matches a label of another person's words. Group 1 is the person.
	origin = regexp.MustCompile(`^(?i:(?:[\pL’'-]+ ){0,5}(?:message|messages|msg|text|note|letter|mail|email|forwarded|fwd|quote` +
		`|quoted|reply|answer|comment|post|posted|copied|pasted|sent|nachricht|mail|brief|zitat|mensaje|carta|cita` +
		`|message|lettre|citation|mensagem|messaggio|lettera|bericht)[ ]` +
		`(?:from|by|of|von|vom|de|del|da|do|di|van)|from|von|by) (.+)$`)
	// source matches any other label with the source of the words. Group 1 is the person.
	source = regexp.MustCompile(`^(?:[\pL’'-]+ ){1,3}(?:from|by|von) (.+)$`)
	// thirdPersons are pronouns of others that stand as a label.
	thirdPersons = WordSet(`he she they her him them everyone everybody someone somebody er sie ihm ihr ella ellos ellas
		elle elles lui leur ela ele eles elas lei loro hij zij hem haar`)
	// labelOwners stand before the speaker's things. labelOthers stand before another person's things.
	labelOwners = sync.OnceValue(func() map[string]bool {
		return ownersOf(firstOwner, func(r reader) map[string]bool { return r.owners })
	})
	labelOthers = sync.OnceValue(func() map[string]bool {
		return ownersOf(WordSet("his her their"), func(r reader) map[string]bool { return r.others })
	})
	// determiners may stand before a companion in a label: "the doctor".
	determiners = sync.OnceValue(func() map[string]bool {
		return ownersOf(WordSet("the"), func(r reader) map[string]bool { return r.determiners })
	})
	// manyOrAnimals are companions in headings rather than labels: "my kids: I drive them to school".
	manyOrAnimals = wordLists.Set("manyOrAnimals")
	// speakerRoles name the speakers of a transcript, folded.
	speakerRoles = sync.OnceValue(func() map[string]bool {
		out := map[string]bool{}
		for w := range wordLists.Set("speakerRoles") {
			out[foldAccents(w)] = true
		}
		return out
	})
	// referring words refer back to the person in a label.
	referring = WordSet("him her them his their he she they ihn ihm ihr sie er ihnen le lo la les lui elle il ele ela " +
		"eles lei loro")
)

func ownersOf(out map[string]bool, of func(reader) map[string]bool) map[string]bool {
	for _, r := range readers() {
		out = Union(out, of(r))
	}
	return out
}

// labelOf returns the owner of the words after an attribution in the user's text. A label is a person's if a
// handle, a time of day, kinship or a known name shows it, and if the words are in the first person. Other names
// may be a person's.
func (a attribution) labelOf(rest, speaker string) label {
	var words []string
	for w := range strings.FieldsSeq(foldAccents(strings.ToLower(a.label))) {
		words = append(words, strings.Trim(w, ".'’-@"))
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	if len(words) == 0 {
		return a.firmly(rest, true)
	}
	if slices.ContainsFunc(strings.Fields(strings.ToLower(a.label)), func(w string) bool { return sayings[w] }) {
		return noLabel // a sentence, not a label
	}
	if from := origin.FindStringSubmatch(a.label); from != nil {
		inner := attribution{label: from[1], clock: true, exported: true}
		if of := inner.labelOf(rest, speaker); of != noLabel {
			return of
		}
		return unsureLabel
	}
	if from := source.FindStringSubmatch(a.label); from != nil {
		if selves()[foldAccents(strings.ToLower(from[1]))] { // "one rule from me"
			return headingLabel
		}
		return attribution{label: from[1]}.labelOf(rest, speaker)
	}
	known := names()[words[0]] && !headings()[words[0]]
	switch of, owned := ownedLabel(words, rest); {
	case isSpeaker(words, speaker):
		return speakerLabel
	case a.unsure:
		return a.firmly(rest, true)
	case strings.HasPrefix(a.label, "@"):
		return a.firmly(rest, false)
	case owned:
		return of
	case len(words) == 1 && thirdPersons[words[0]]:
		return othersLabel
	case a.clock && len(words) == 1 && len(words[0]) == 1 && words[0] != "i": // an initial
		return a.firmly(rest, true)
	case isNumberedSpeaker(words):
		return a.firmly(rest, false)
	case !known && isHeading(words), strings.Trim(words[0], "0123456789") == "", len(words) > maxLabelWords:
		return headingOf(words)
	}
	plain := strings.TrimRight(words[0], "0123456789")
	switch shaped, handle := isNameShaped(a.label), plain != words[0] || strings.Contains(words[0], "_"); {
	case headings()[plain]:
		return headingLabel
	case shaped && namesPerson(a.label, words), handle && names()[plain]:
		if saysSelf(rest) || a.clock || strings.TrimSpace(rest) == "" {
			return othersLabel
		}
		return unsureLabel
	case a.clock && (shaped || len(words) == 1):
		return a.firmly(rest, true)
	case shaped, handle, len(words) == 1 && len(words[0]) > 2 && !strings.Contains(a.label, ";"):
		if saysSelf(rest) || shaped && strings.TrimSpace(rest) == "" {
			return unsureLabel
		}
		if shaped {
			return maybeLabel
		}
	}
	return noLabel
}

// isNumberedSpeaker reports whether a folded label is a role with a number or a letter: "Speaker 2", "relatore b".
func isNumberedSpeaker(words []string) bool {
	role := strings.TrimRight(words[0], "0123456789")
	switch {
	case len(words) == 2:
		isNumber := strings.Trim(words[1], "0123456789") == ""
		return speakerRoles()[words[0]] && (isNumber || utf8.RuneCountInString(words[1]) == 1)
	case len(words) == 1 && role == words[0]:
		role = strings.TrimRight(role, "abcdefgh") // "话者A"
	}
	role = strings.TrimRight(role, "_-")
	return len(words) == 1 && role != words[0] && speakerRoles()[role]
}

// headingOf returns the label of words with one word of a heading. Too many words are not a label.
func headingOf(words []string) label {
	if len(words) > maxLabelWords || strings.Trim(words[0], "0123456789") == "" {
		return noLabel
	}
	return headingLabel
}

// firmly returns the label of another speaker, if the words are in the first person, or have a time of day and a name.
func (a attribution) firmly(rest string, doubtful bool) label {
	if a.exported || !doubtful && saysSelf(rest) || strings.TrimSpace(rest) == "" {
		return othersLabel
	}
	return unsureLabel
}

// ownedLabel reads a label of an owner and a noun: "my sister", "her words".
func ownedLabel(words []string, rest string) (of label, ok bool) {
	determined := len(words) == 2 && determiners()[words[0]]
	if len(words) < 2 || len(words) > maxLabelWords ||
		!determined && !labelOwners()[words[0]] && !labelOthers()[words[0]] {
		return noLabel, false
	}
	noun := words[len(words)-1]
	switch kin := companionsOf(words[1:]); {
	case kin != "" && !manyOrAnimals[kin] && !slices.ContainsFunc(Words(rest), func(w Word) bool {
		return referring[w.Lower]
	}):
		return othersLabel, true
	case kin != "":
		return unsureLabel, true
	case determined:
		return noLabel, false
	case labelOthers()[words[0]] && saysSelf(rest):
		return othersLabel, true
	case belongings[noun] || headings()[noun] || foldedThings()[noun]:
		return headingLabel, true
	case saysSelf(rest) || strings.TrimSpace(rest) == "":
		return unsureLabel, true
	}
	return noLabel, false
}

// companionsOf returns the companion among the words of a label, folded. It is empty if there is no companion.
func companionsOf(words []string) string {
	for _, w := range words {
		w = strings.TrimSuffix(w, "'s")
		if foldedCompanions()[w] || isCompound(w, companions) {
			return w
		}
	}
	return ""
}

var (
	foldedCompanions = sync.OnceValue(func() map[string]bool {
		out := map[string]bool{}
		for w := range allCompanions() {
			out[foldAccents(w)] = true
		}
		return out
	})
	foldedThings = sync.OnceValue(func() map[string]bool {
		out := map[string]bool{}
		for _, r := range readers() {
			for w := range r.things {
				out[foldAccents(w)] = true
			}
		}
		return out
	})
)

func isSpeaker(words []string, speaker string) bool {
	names := strings.Fields(foldAccents(strings.ToLower(speaker)))
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(words, name) })
}

// isHeading reports whether a label has a word of a heading. Without spaces between words, the label may be such a
// word, or begin or end with it.
func isHeading(words []string) bool {
	known := headings()
	if slices.ContainsFunc(words, func(w string) bool {
		return known[w] || stopLanguages()[w] != 0 && !names()[w] && !nameParticles[w]
	}) {
		return true
	}
	if len(words) == 1 && len(words[0]) > 3 && strings.HasSuffix(words[0], "ly") {
		return true // an adverb
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

// isNameShaped reports whether a label has the form of a name. It is a few words that begin with a capital, or some
// characters of a script without capitals.
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
