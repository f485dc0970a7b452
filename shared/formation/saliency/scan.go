package saliency

import (
	"strings"

	"github.com/mneme-memory/mneme/shared/text"
)

// clause is what is counted of one sentence, or of a part of it between dashes.
type clause struct {
	words int
	seen  class // every class of its words
	// Content words by how much they narrow down: rare ones are in no list of general words.
	common, rare, long int
	names, numbers     int
	times, tells, kins int
	pasts              int
	praises, uplifts   int
	advices            int
	commands, machines int
	totals             int // "all" and "everything"
	chats              int // words of small talk
	idioms             int
	opener, last       class // of the first word, and of the one before this one
	opened             bool  // the opener is known
	question           bool
}

// informs reports whether there is anything in it beyond small talk.
func (c *clause) informs() bool { return c.rare+c.names+c.numbers+c.times+c.tells > 0 }

// gushes reports whether it praises or cheers without speaking of the speaker.
func (c *clause) gushes() bool {
	return c.seen&first == 0 && c.praises+c.uplifts > 0 && (c.pasts == 0 || c.seen&second != 0)
}

// maxWords bounds what is looked at of one text, so that a huge turn costs no more than a long one.
const maxWords = 2000

// connects reports whether a word only ties a clause to the one before.
func connects(lower string) bool {
	switch lower {
	case "and", "but", "so", "also", "then", "plus", "or", "because":
		return true
	}
	return false
}

// classOf returns what a lower-case word does; a possessive is taken as its noun.
func classOf(lower string) class {
	if is, ok := lexicon[lower]; ok {
		return is
	}
	if stem, ok := strings.CutSuffix(lower, "'s"); ok {
		return lexicon[stem]
	}
	return 0
}

// scan cuts a text into clauses and counts. The cut is rough, which is enough for counting and many
// times faster than a sentence model. self is the speaker's name in lower case.
func scan(said string, self string) []clause {
	words := text.Words(said)
	words = words[:min(len(words), maxWords)]
	if len(words) == 0 {
		return nil
	}
	clauses := make([]clause, 0, 6)
	var c clause
	before := ""
	for i := 0; i < len(words); i++ {
		w := words[i]
		if c.words > 0 && asksAnew(before, words[i:]) {
			clauses = append(clauses, c)
			c = clause{}
		}
		if n := idiomAt(said, words, i); n > 0 {
			c.addIdiom(w, n)
			i += n - 1
			before = gapAfter(said, words, i)
		} else {
			after := gapAfter(said, words, i)
			c.add(w, before, after, self)
			before = after
		}
		if i+1 == len(words) || ends(before) {
			c.question = strings.Contains(before, "?")
			clauses = append(clauses, c)
			c = clause{}
		}
	}
	return clauses
}

// gapAfter returns what stands between word i and the next, or the end.
func gapAfter(said string, words []text.Word, i int) string {
	if i+1 < len(words) {
		return said[words[i].End:words[i+1].Start]
	}
	return said[words[i].End:]
}

// asksAnew reports whether a question may begin after a comma: "I'll bring it, how is that?"
func asksAnew(before string, words []text.Word) bool {
	if !strings.Contains(before, ",") {
		return false
	}
	w := words[0].Lower
	if (w == "but" || w == "and" || w == "so") && len(words) > 1 {
		w = words[1].Lower
	}
	return classOf(w)&asking != 0
}

// idiomAt returns how many words the longest idiom at word i takes, 0 for none.
func idiomAt(said string, words []text.Word, i int) int {
	for _, rest := range idioms[words[i].Lower] {
		if followedBy(said, words[i:], rest) {
			return len(rest) + 1
		}
	}
	return 0
}

// followedBy reports whether the words after the first are these, in the same clause.
func followedBy(said string, words []text.Word, rest []string) bool {
	if len(words) <= len(rest) {
		return false
	}
	for k, r := range rest {
		if words[k+1].Lower != r || ends(said[words[k].End:words[k+1].Start]) {
			return false
		}
	}
	return true
}

// addIdiom counts an idiom of n words, without what its words are alone.
func (c *clause) addIdiom(w text.Word, n int) {
	if !c.opened {
		c.opener, c.opened = classOf(w.Lower)&^(first|second), true
	}
	c.words += n
	c.chats += n
	c.idioms++
}

// ends reports whether what stands between two words parts clauses.
func ends(gap string) bool {
	return strings.ContainsAny(gap, ".!?\n;…—–") || strings.Contains(gap, " - ") || strings.Contains(gap, "--")
}

// add counts one more word; before and after are what stands around it.
func (c *clause) add(w text.Word, before, after string, self string) {
	is := classOf(w.Lower)
	if is&greeting != 0 && c.words <= 1 {
		is = greeting // "good morning" tells no time
	}
	if !c.opened && !connects(w.Lower) {
		c.opener, c.opened = is, true
	}
	c.words++
	c.seen |= is
	c.countClasses(is, w)
	switch {
	case w.Lower == self, c.vocative(w, is, before, after):
	case w.Number:
		c.numbers++
	case is&chatty != 0 && is&(tell|kin|timely) == 0:
		c.chats++
		if w.Capital && c.words > 1 && is&(praise|feeling|uplift|filler) != 0 {
			c.names++ // inside a sentence it is part of a name
		}
	case is == 0 && text.IsStopWord(w.Lower):
	case is&common != 0:
		c.common++
	case is&(first|second|third|demonstrative|negation|modal|asking|numeral|past|future|habit|disagree) != 0 && is&(tell|kin|timely) == 0:
	default:
		c.countRare(w)
	}
	c.last = is
}

// countClasses counts the classes that matter by their number.
func (c *clause) countClasses(is class, w text.Word) {
	c.times += has(is, timely|habit)
	c.numbers += has(is, numeral)
	c.tells += has(is, tell)
	c.kins += has(is, kin)
	c.praises += has(is, praise|feeling)
	c.uplifts += has(is, uplift)
	c.advices += has(is, advice)
	c.machines += has(is, machine)
	if is&past != 0 || is&chatty == 0 && len(w.Lower) > 4 && strings.HasSuffix(w.Lower, "ed") {
		c.pasts++
	}
	if w.Lower == "all" || w.Lower == "everything" {
		c.totals++
	}
	if is&command != 0 && c.words <= 2 {
		c.commands++
	}
}

func (c *clause) countRare(w text.Word) {
	c.rare++
	if len(w.Lower) > 6 {
		c.long++
	}
	if w.Capital && c.words > 1 {
		c.names++
	}
}

// vocative reports whether a capitalised word calls the other one by name: "Thanks, Ana!", "Hey
// Ben," or "Ana, how are you?". Names that are told of follow content.
func (c *clause) vocative(w text.Word, is class, before, after string) bool {
	if !w.Capital || is != 0 || c.rare+c.names+c.numbers > 0 {
		return false
	}
	closes := after == "" || strings.ContainsAny(after, ",.!?\n")
	switch {
	case c.words == 1:
		return strings.HasPrefix(after, ",")
	case strings.Contains(before, ","):
		return closes
	}
	if closes && c.last&(praise|thanks|congrats|agree|interjection) != 0 && c.last&(feeling|uplift) == 0 {
		return true
	}
	return closes && c.words <= 3 && c.opener&(greeting|thanks|interjection|congrats|agree|farewell|praise) != 0
}

func has(is, wanted class) int {
	if is&wanted != 0 {
		return 1
	}
	return 0
}

// contentWords counts the words of a text that carry content.
func contentWords(said string) int {
	n := 0
	words := text.Words(said)
	for _, w := range words[:min(len(words), maxWords)] {
		is := classOf(w.Lower)
		if is&(tell|kin|timely) != 0 || is == 0 && !text.IsStopWord(w.Lower) {
			n++
		}
	}
	return n
}
