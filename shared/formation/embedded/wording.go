package embedded

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// contractions are the endings of words that stand for a separate word.
var contractions = []struct{ ending, word string }{
	{"n't", " not"}, {"'m", " am"}, {"'re", " are"}, {"'ve", " have"}, {"'ll", " will"},
}

// spelled are words with another spelling.
var spelled = map[string]string{
	"can't": "can not", "cannot": "can not", "won't": "will not", "im": "i am", "dont": "do not", "ive": "i have",
	"he's": "he is", "she's": "she is", "it's": "it is", "that's": "that is", "there's": "there is", "0": "zero",
	"1": "one", "2": "two", "3": "three", "4": "four", "5": "five", "6": "six", "7": "seven", "8": "eight",
	"9": "nine", "10": "ten", "11": "eleven", "12": "twelve",
}

// wording returns the words of a content in canonical form, without contractions and with small numbers as words.
func wording(content string) string {
	words := strings.Fields(text.Canonical(content))
	for i, w := range words {
		w = strings.ReplaceAll(w, "’", "'")
		if other, ok := spelled[w]; ok {
			words[i] = other
			continue
		}
		for _, c := range contractions {
			if stem, ok := strings.CutSuffix(w, c.ending); ok {
				w = stem + c.word
			}
		}
		words[i] = w
	}
	return strings.Join(words, " ")
}

const (
	// equalSame is the least probability of the same content where two statements have equal words with content.
	equalSame = 0.4
	// otherSame is the least probability where they differ in a word.
	otherSame = 0.85
	// mostOther is the maximum number of words with content that a new wording lacks.
	mostOther = 1
)

// introducing are the stems of "name" and "called", which only lead to a name.
var introducing = text.WordSet("name call")

// essence is what two wordings of the same content share.
type essence struct {
	stems []string
	// exact are the names and numbers, the negations and the words of the past, in order.
	exact []string
	// introduces reports whether the content tells a name.
	introduces bool
}

// pasts are words of the past.
var pasts = text.WordSet("was were had did been used")

// reverses reports whether a word changes what others say: a negation, or a past.
func reverses(lower string) bool {
	return denying[lower] || pasts[lower] || strings.HasSuffix(lower, "ed")
}

func essenceOf(content string) essence {
	said := plain(content)
	words := strings.Fields(wording(said))
	capital := map[string]bool{}
	for i, w := range text.Words(said) {
		capital[w.Lower] = i > 0 && w.Capital || strings.ContainsFunc(w.Lower, unicode.IsDigit)
	}
	var e essence
	for _, w := range text.Words(strings.Join(words, " ")) {
		if w.Lower != "called" && reverses(w.Lower) || capital[w.Lower] && !subjects[w.Lower] || numbers[w.Lower] {
			e.exact = append(e.exact, w.Lower)
		}
		stem := text.Stem(w.Lower)
		if e.introduces = e.introduces || introducing[stem]; introducing[stem] {
			continue
		}
		if !text.IsFiller(w.Lower, []text.Word{w}, 0) && !slices.Contains(e.stems, stem) {
			e.stems = append(e.stems, stem)
		}
	}
	return e
}

// numbers are the small numbers as words.
var numbers = text.WordSet("zero one two three four five six seven eight nine ten eleven twelve")

// lacks returns how many stems of another essence are missing.
func (e essence) lacks(other essence) int {
	n := 0
	for _, stem := range other.stems {
		if !slices.Contains(e.stems, stem) {
			n++
		}
	}
	return n
}

// sharesNames reports whether two essences have the same names, numbers and negations. A name at the beginning of one
// sentence is known by the other sentence.
func (e essence) sharesNames(other essence) bool {
	within := func(names []string, of essence) bool {
		return !slices.ContainsFunc(names, func(n string) bool {
			return !slices.Contains(of.exact, n) && (reverses(n) || !slices.Contains(of.stems, text.Stem(n)))
		})
	}
	return within(e.exact, other) && within(other.exact, e) &&
		(len(e.exact) < 2 || len(other.exact) < 2 || slices.Equal(e.exact, other.exact))
}

// retold returns the entry that a statement tells again in other words. anew reports whether the new wording takes the
// place of the entry: it may lack a word, and the judge is very sure. A statement about an event is never told again.
func (d *decider) retold(
	c formation.Candidate, turn memory.Turn, own []memory.Memory,
) (entry memory.Memory, anew, ok bool) {
	said := essenceOf(c.Content)
	if c.Kind == memory.KindEpisodic || len(said.stems) == 0 {
		return memory.Memory{}, false, false
	}
	later := relation.Statement{Text: plain(c.Content), Role: turn.Role, Speaker: c.Speaker, Time: turn.Time}
	for _, m := range own {
		of := essenceOf(m.Content)
		lacking, more := said.lacks(of), of.lacks(said)
		if m.Kind == memory.KindEpisodic || m.Tier != c.Tier || !said.sharesNames(of) || lacking > mostOther ||
			lacking == len(of.stems) {
			continue
		}
		if said.introduces && of.introduces && lacking+more == 0 {
			return m, false, true
		}
		does := d.judges.Between(later, asStored([]memory.Memory{m})[0])
		switch {
		case lacking+more == 0 && does.Likeliest() == relation.Same && does[relation.Same] >= equalSame:
			return m, false, true
		case lacking+more > 0 && does[relation.Same] >= otherSame:
			return m, !turn.Time.Before(m.ValidFrom), true
		}
	}
	return memory.Memory{}, false, false
}
