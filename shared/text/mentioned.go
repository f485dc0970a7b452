package text

import (
	"slices"
	"strings"
)

// Mention is a person or a thing of the speaker that a text names: "My aunt Rosa", "a boat".
type Mention struct {
	// Phrase is the mention as written.
	Phrase string
	// End is the byte behind it.
	End int
	// pronouns are the pronouns that may stand for it.
	pronouns map[string]bool
}

// Is reports whether a pronoun in lower case may stand for the mention.
func (m Mention) Is(pronoun string) bool { return m.pronouns[pronoun] }

var (
	sheWords   = WordSet("she she's she'd she'll her hers")
	heWords    = WordSet("he he's he'd he'll him his")
	theyWords  = WordSet("they they're they've they'd they'll them their theirs")
	itWords    = WordSet("it it's it'll it'd its")
	eitherWord = Union(sheWords, heWords)
	// Persons by the pronouns that stand for them.
	women = WordSet(`mother mum mom mama sister daughter wife girlfriend fiancée aunt niece grandmother grandma granny
		landlady`)
	men    = WordSet(`father dad papa brother son husband boyfriend fiancé uncle nephew grandfather grandpa landlord`)
	manyOf = WordSet(`parents brothers sisters sons daughters children kids grandparents twins friends colleagues
		neighbours neighbors dogs cats`)
	// placing words stand before the name of a place or an employer.
	placing = WordSet("in at to from near around via by of on for with")
	// owned words stand before a thing that a text mentions first.
	owned = WordSet("a an my our")
)

// Mentions returns the persons and things of the speaker in a text, in order. A pronoun may stand for each of them.
func Mentions(said string) []Mention {
	words := Words(said)
	var out []Mention
	for i := 0; i < len(words); {
		m, n := mentionAt(said, words, i)
		if n == 0 {
			i++
			continue
		}
		out = append(out, m)
		i += n
	}
	return out
}

// mentionAt reads a mention at word i. It returns its number of words.
func mentionAt(said string, words []Word, i int) (Mention, int) {
	d := dater{text: said, words: words}
	end, which := i, map[string]bool(nil)
	switch lower := words[i].Lower; {
	case owned[lower]:
		for k := i + 1; k < len(words) && k <= i+reach && d.close(k-1) && which == nil; k++ {
			if which = pronounsOf(words[k].Lower); which != nil {
				end = k
			}
		}
		if which == nil {
			return thingAt(said, words, i)
		}
	case words[i].Capital && names()[foldAccents(lower)] && !placing[d.at(i-1)] && !IsStopWord(lower):
		which = eitherWord
	default:
		return Mention{}, 0
	}
	for end+1 < len(words) && d.close(end) && words[end+1].Capital && !IsStopWord(words[end+1].Lower) {
		end++
	}
	return Mention{said[words[i].Start:words[end].End], words[end].End, which}, end - i + 1
}

// pronounsOf returns the pronouns for a companion of the speaker, or nil for other words.
func pronounsOf(noun string) map[string]bool {
	switch {
	case women[noun]:
		return sheWords
	case men[noun]:
		return heWords
	case manyOf[noun]:
		return theyWords
	case companions[noun]:
		return eitherWord
	}
	return nil
}

// thingAt reads a thing with its article at word i.
func thingAt(said string, words []Word, i int) (Mention, int) {
	d := dater{text: said, words: words}
	if i+1 >= len(words) || !d.close(i) {
		return Mention{}, 0
	}
	noun := words[i+1].Lower
	_, isUnit := units[noun]
	if IsStopWord(noun) || isUnit || vagueCounts[noun] || timeWords[noun] || words[i+1].Number {
		return Mention{}, 0
	}
	end := i + 1
	if next := d.at(i + 2); next != "" && d.close(i+1) && !IsStopWord(next) && !timeWords[next] && !IsPast(next) &&
		!isThirdPerson(next) {
		end++
	}
	return Mention{said[words[i].Start:words[end].End], words[end].End, itWords}, end - i + 1
}

// Pronoun returns the pronoun of the third person that a clause begins with, behind words such as "and", or "". An "it"
// that may stand for no thing does not count: "it is raining".
func Pronoun(clause string) string {
	words := Words(clause)
	for len(words) > 1 && (joining[words[0].Lower] || fronted[words[0].Lower] || words[0].Lower == "also") {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	first := words[0].Lower
	switch {
	case eitherWord[first], theyWords[first]:
		return first
	case itWords[first] && len(words) > 1 && (naming[words[1].Lower] ||
		len(words) > 2 && presentBe[words[1].Lower] && naming[words[2].Lower]):
		return first
	}
	return ""
}

// ObjectPronoun returns the first "her" or "him" in a clause without another person, or "".
func ObjectPronoun(clause string) string {
	if len(Mentions(clause)) > 0 {
		return ""
	}
	words := Words(clause)
	i := slices.IndexFunc(words, func(w Word) bool { return w.Lower == "her" || w.Lower == "him" })
	if i < 1 || slices.ContainsFunc(words[:i], func(w Word) bool { return eitherWord[w.Lower] }) {
		return ""
	}
	return words[i].Lower
}

// aboutMark begins a note of the subject of a statement.
const aboutMark = "[about: "

// About returns a statement with a note of the person or thing that its pronoun stands for.
func About(phrase, said string) string { return aboutMark + phrase + "] " + said }

// CutAbout separates the note of a statement. ok is false without a note.
func CutAbout(said string) (phrase, rest string, ok bool) {
	if rest, ok = strings.CutPrefix(said, aboutMark); ok {
		phrase, rest, ok = strings.Cut(rest, "] ")
	}
	return phrase, rest, ok
}

// IsPerson reports whether a pronoun in lower case stands for one person.
func IsPerson(pronoun string) bool { return eitherWord[pronoun] }
