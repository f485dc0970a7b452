package embedded

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/mneme-memory/mneme/shared/text"
)

// quoteRunes surround what is quoted, and say nothing themselves.
const quoteRunes = "\"“”«»*_~` \t"

// maxOpenings bounds the fillers taken off one sentence; without it a text of nothing else takes
// time in the square of its length.
const maxOpenings = 8

// trimSentence takes off what opens or closes a sentence without telling anything: fillers,
// greetings, the other speaker's name as an address, quotation marks around it all.
func trimSentence(s string, names map[string]bool) string {
	s = trimQuotes(s)
	for range maxOpenings {
		next := trimOpening(s, names)
		if next == s {
			break
		}
		s = next
	}
	return trimAddress(s, names)
}

// tag is what makes a question of a statement ("..., right?").
var tag = regexp.MustCompile(`(?i),? (?:right|correct|huh|eh|yeah|you know|don't you think|(?:is|are|was|were|do|does|did|has|have|can|will|would)n't (?:it|he|she|they|we|you|that|this)|won't (?:it|he|she|they|we|you))\s*\?+$`)

// untag makes a statement again of one that ends with a tag.
func untag(s string) string {
	if !strings.HasSuffix(s, "?") {
		return s
	}
	if at := tag.FindStringIndex(s); at != nil && at[0] > 0 && !asks[firstWord(s)] {
		return s[:at[0]] + "."
	}
	return s
}

func firstWord(s string) string {
	for _, w := range text.Words(s) {
		return w.Lower
	}
	return ""
}

// asks are words that open a question.
var asks = text.WordSet(`what who whom whose which where when why how is are was were do does did have has had can could will would shall
	should may might isn't aren't wasn't weren't don't doesn't didn't haven't hasn't can't couldn't won't wouldn't shouldn't any`)

func trimQuotes(s string) string {
	s = strings.TrimSpace(s)
	if strings.ContainsAny(s, "\"“”«»") && strings.Count(s, "\"") != 2 {
		return s
	}
	trimmed := strings.Trim(s, quoteRunes)
	if len(trimmed) < len(s) && !strings.ContainsAny(trimmed, "\"“”«»") {
		return trimmed
	}
	return s
}

// trimOpening takes off one filler, filler phrase or address with the punctuation behind it.
func trimOpening(s string, names map[string]bool) string {
	words := text.Words(s)
	if len(words) == 0 {
		return s
	}
	for _, phrase := range fillerPhrases {
		if n := len(phrase); hasPhrase(words, phrase) && n < len(words) && pauses(s, words, n-1) {
			return s[words[n].Start:]
		}
	}
	first := words[0].Lower
	if len(words) == 1 || !fillers[first] && !names[first] {
		return s
	}
	switch {
	case pauses(s, words, 0), greetings[first] && names[words[1].Lower],
		interjections[first] && words[1].Lower != "is" && words[1].Lower != "was":
		return keepOpener(s, words)
	}
	return s
}

// isFiller reports whether a sentence is nothing but a filler phrase.
func isFiller(s string) bool {
	words := text.Words(s)
	for _, phrase := range fillerPhrases {
		if len(words) == len(phrase) && hasPhrase(words, phrase) {
			return true
		}
	}
	return false
}

// keepOpener cuts before the second word, but not inside what opens it ("$", a quotation mark).
func keepOpener(s string, words []text.Word) string {
	start := words[1].Start
	gap := s[words[0].End:start]
	trimmed := strings.TrimLeftFunc(gap, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(",.!…:;–—-~?", r)
	})
	return s[start-len(trimmed):]
}

// pauses reports whether punctuation follows word i.
func pauses(s string, words []text.Word, i int) bool {
	if i+1 >= len(words) {
		return false
	}
	gap := strings.TrimSpace(s[words[i].End:words[i+1].Start])
	return gap != "" && strings.ContainsAny(gap[:1], ",.!;:-") || strings.ContainsAny(gap, "–—…")
}

func hasPhrase(words []text.Word, phrase []string) bool {
	if len(words) < len(phrase) {
		return false
	}
	for i, p := range phrase {
		if words[i].Lower != p {
			return false
		}
	}
	return true
}

// trimAddress takes off the other's name at the end (", Mel!").
func trimAddress(s string, names map[string]bool) string {
	words := text.Words(s)
	n := len(words)
	if n < 3 || !names[words[n-1].Lower] || !words[n-1].Capital {
		return s
	}
	gap := strings.TrimSpace(s[words[n-2].End:words[n-1].Start])
	if gap != "," {
		return s
	}
	return s[:words[n-2].End] + s[words[n-1].End:]
}

var greetings = text.WordSet("hey hi hello thanks hiya yo bye morning")

// interjections may open a sentence without a pause.
var interjections = text.WordSet("oh ooh aww aw wow whoa woah haha hahaha lol hmm mmm yeah yep yup nah ah omg btw um uh well-well")

// fillers open a sentence when a pause follows.
var fillers = text.Union(greetings, interjections, text.WordSet(`well so anyway honestly actually basically yes no nope ok okay sure right
	exactly absolutely definitely totally oops whoops ouch indeed certainly true agreed wow nice cool awesome great amazing sweet thank
	please sorry congrats congratulations welcome look listen luckily see speaking alright cheers man dude girl guys bro buddy also
	plus`))

// fillerPhrases open a sentence when a pause follows.
var fillerPhrases = [][]string{
	{"by", "the", "way"}, {"to", "be", "honest"}, {"you", "know"}, {"i", "mean"}, {"of", "course"}, {"for", "sure"}, {"no", "worries"},
	{"no", "problem"}, {"long", "time", "no", "see"}, {"long", "time", "no", "talk"}, {"good", "to", "hear"}, {"thank", "you"},
	{"thanks", "a", "lot"}, {"good", "question"}, {"in", "fact"}, {"you", "too"}, {"me", "too"}, {"same", "here"}, {"sure", "thing"},
	{"oh", "my", "god"}, {"oh", "my", "gosh"}, {"trust", "me"}, {"believe", "me"}, {"let", "me", "see"}, {"guess", "what"},
	{"i", "bet"}, {"you", "bet"}, {"i", "see"}, {"fair", "enough"}, {"good", "for", "you"},
}
