package query

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// words.txt has the long lists of words of this package.
//
//go:embed words.txt
var wordFile string

var wordLists = text.ReadWordLists(wordFile)

// Words of English queries. A query in another language points to nothing. Its number of words alone decides how
// much it depends on the conversation.
var (
	// pointers name nothing and refer to an earlier name. An opener refers to it as the first word of a query.
	// Askers turn a query into a question.
	pointers = wordLists.Set("pointers")
	openers  = text.WordSet("and but or so then")
	askers   = text.WordSet("who whom whose what which when where why how")
	// vague words have content, but say nothing about the subject of the query.
	vague  = wordLists.Set("vague")
	plural = text.WordSet("they them their theirs these those both")
)

// The words for people, and the pronouns for them.
const (
	pronoun = 1 + iota
	noun
)

var (
	female = kinds("she her hers", "female")
	male   = kinds("he him his", "male")
	either = kinds("", "either")
)

// kinds returns the kind of each word: some pronouns, and the nouns of a list.
func kinds(pronouns, nouns string) map[string]int {
	out := map[string]int{}
	for w := range text.WordSet(pronouns) {
		out[w] = pronoun
	}
	for w := range wordLists.Set(nouns) {
		out[w] = noun
	}
	return out
}

// mostPeople is the maximum number of people that a pronoun may mean. The people named last count.
const mostPeople = 3

// people returns the people that the pronouns of the query may mean: the words for people, and the names. They come
// from the nearest message that has any. Messages of the user come before messages of the assistant.
func (f form) people(messages []memory.Message) []string {
	if !f.she && !f.he && !f.they {
		return nil
	}
	for _, role := range [...]memory.Role{memory.RoleUser, memory.RoleAssistant} {
		for _, m := range slices.Backward(messages) {
			if m.Role != role {
				continue
			}
			if found := f.peopleIn(phraseOf(m.Content)); len(found) > 0 {
				return found
			}
		}
	}
	return nil
}

func (f form) peopleIn(p Phrase) []string {
	var out []string
	for i, w := range p.Words {
		lower := strings.TrimSuffix(w.Lower, "'s")
		isFemale, isMale := female[lower] == noun, male[lower] == noun
		suits := f.she && isFemale || f.he && isMale || f.they && (isFemale || isMale)
		if suits || either[lower] == noun || isName(p, i) {
			out = append(out, strings.TrimSuffix(strings.TrimSuffix(p.Text[w.Start:w.End], "'s"), "’s"))
		}
	}
	return out[max(0, len(out)-mostPeople):]
}

// isName reports whether a word is written like a name: with a capital letter that its position does not explain.
func isName(p Phrase, i int) bool {
	w := p.Words[i]
	if !w.Capital || text.IsFiller(p.Text, p.Words, i) || text.IsTimeWord(w) || i == 0 {
		return false
	}
	return !strings.ContainsAny(p.Text[p.Words[i-1].End:w.Start], ".!?\n:")
}

// item matches the start of a list item: a number in a list, or a line with a bullet.
var item = regexp.MustCompile(`(?m)(?:^|[\s(])(\d{1,2})[.):]\s+|^\s*[-*•]\s+`)

// joints separate the alternatives that a sentence offers.
var joints = regexp.MustCompile(`(?i)\s*,\s*(?:or|and)\s+|\s*[,;]\s*|\s+or\s+`)

// places maps words to positions in a list: from 1, or from the end for numbers below 0.
var places = map[string]int{
	"first": 1, "1st": 1, "former": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4,
	"fifth": 5, "5th": 5, "last": -1, "latter": -1,
}

var numbers = map[string]int{
	"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "1": 1, "2": 2, "3": 3, "4": 4, "5": 5,
}

// listedItem returns the item of the assistant's last message that the query names by its position. It returns nil
// where the query names no position, or the message has no such list.
func (f form) listedItem(messages []memory.Message) []string {
	last, place := messages[len(messages)-1], f.place
	if place == 0 || last.Role != memory.RoleAssistant || f.among != "" && !text.StemSet(last.Content)[f.among] {
		return nil
	}
	items := itemsOf(last.Content)
	if place < 0 {
		place += len(items) + 1
	}
	if len(items) < 2 || place < 1 || place > len(items) {
		return nil
	}
	return []string{text.Cut(items[place-1], opening)}
}

// times are words that give a position word the meaning of a time or an order, as in "last week" and "the first time".
var times = wordLists.Set("times")

// placeAt returns the list position that word i of a query names, or 0. It also returns the stem of the noun after
// it ("the second hotel").
func placeAt(p Phrase, i int) (place int, among string) {
	words, w := p.Words, p.Words[i].Lower
	if i > 0 && (words[i-1].Lower == "number" || words[i-1].Lower == "option") && numbers[w] != 0 {
		return numbers[w], ""
	}
	if i+1 == len(words) {
		return places[w], ""
	}
	next := words[i+1]
	if times[next.Lower] || text.IsTimeWord(next) {
		return 0, ""
	}
	if !vague[next.Lower] && !text.IsFiller(p.Text, words, i+1) {
		among = text.Stem(next.Lower)
	}
	return places[w], among
}

// itemsOf returns the items of a list in a message, numbered or one a line. A message without a list gives the
// alternatives of the sentence that offers the most.
func itemsOf(said string) []string {
	if marks := item.FindAllStringIndex(said, -1); len(marks) > 1 {
		var out []string
		for i, m := range marks {
			end := len(said)
			if i+1 < len(marks) {
				end = marks[i+1][0]
			}
			out = append(out, said[m[1]:end])
		}
		return out
	}
	var out []string
	for sentence := range strings.FieldsFuncSeq(said, func(r rune) bool { return strings.ContainsRune(".!?\n", r) }) {
		if _, offer, ok := strings.Cut(sentence, ":"); ok {
			sentence = offer
		}
		if parts := joints.Split(sentence, -1); len(parts) > len(out) {
			out = parts
		}
	}
	return out
}
