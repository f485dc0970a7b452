package saliency

import (
	"strings"

	"github.com/mneme-memory/mneme/shared/language"
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
	opener             class // of the first word
	question, exclaims bool
	echoes             int // rare words that the turn before has as well
}

// informs reports whether there is anything in it beyond small talk.
func (c *clause) informs() bool { return c.rare+c.names+c.numbers+c.times+c.tells > 0 }

// maxWords bounds what is looked at of one text, so that a huge turn costs no more than a long one.
const maxWords = 2000

// scan cuts a text into clauses and counts. The cut is rough, which is enough for counting and many
// times faster than a sentence model. heard holds the rare words of the turn before.
func scan(text string, self string, heard map[string]bool) []clause {
	words := language.Words(text)
	words = words[:min(len(words), maxWords)]
	if len(words) == 0 {
		return nil
	}
	clauses := make([]clause, 0, 6)
	var c clause
	before := ""
	for i, w := range words {
		after := text[w.End:]
		if i+1 < len(words) {
			after = text[w.End:words[i+1].Start]
		}
		c.add(w, before, after, self, heard)
		before = after
		if i+1 == len(words) || ends(after) {
			c.question = strings.Contains(after, "?")
			c.exclaims = strings.Contains(after, "!")
			clauses = append(clauses, c)
			c = clause{}
		}
	}
	return clauses
}

// ends reports whether what stands between two words parts clauses.
func ends(gap string) bool {
	return strings.ContainsAny(gap, ".!?\n;…—–") || strings.Contains(gap, " - ") || strings.Contains(gap, "--")
}

// add counts one more word; before and after are what stands around it.
func (c *clause) add(w language.Word, before, after, self string, heard map[string]bool) {
	is := lexicon[w.Lower]
	if c.words == 0 {
		c.opener = is
	}
	c.words++
	c.seen |= is
	c.countClasses(is, w)
	switch {
	case w.Lower == self, c.vocative(w, is, before, after):
	case w.Number:
		c.numbers++
	case is&chatty != 0 && is&(tell|kin|timely) == 0, is == 0 && language.IsStopWord(w.Lower):
	case is&common != 0:
		c.common++
	case is&(first|second|third|demonstrative|negation|modal|asking|numeral|past|future|habit|disagree) != 0 && is&(tell|kin|timely) == 0:
	default:
		c.countRare(w, heard)
	}
}

// countClasses counts the classes that matter by their number.
func (c *clause) countClasses(is class, w language.Word) {
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
	if is&command != 0 && c.words <= 4 {
		c.commands++
	}
}

func (c *clause) countRare(w language.Word, heard map[string]bool) {
	c.rare++
	if len(w.Lower) > 6 {
		c.long++
	}
	if w.Capital && c.words > 1 {
		c.names++
	}
	if heard[w.Lower] {
		c.echoes++
	}
}

// vocative reports whether a capitalised word calls the other one by name: "Thanks, Ana!", "Hey
// Ben," or "Ana, how are you?". Names that are told of follow content.
func (c *clause) vocative(w language.Word, is class, before, after string) bool {
	if !w.Capital || is != 0 || c.common+c.rare+c.names+c.numbers > 0 {
		return false
	}
	closes := after == "" || strings.ContainsAny(after, ",.!?\n")
	switch {
	case c.words == 1:
		return strings.HasPrefix(after, ",")
	case strings.Contains(before, ","):
		return closes
	}
	return closes && c.words <= 3 && c.opener&(greeting|thanks|interjection|congrats|agree|farewell) != 0
}

func has(is, any class) int {
	if is&any != 0 {
		return 1
	}
	return 0
}

// rareWords collects the words of a text that carry content.
func rareWords(text string) map[string]bool {
	set := map[string]bool{}
	words := language.Words(text)
	for _, w := range words[:min(len(words), maxWords)] {
		is := lexicon[w.Lower]
		if is&(tell|kin|timely) != 0 || is == 0 && !language.IsStopWord(w.Lower) {
			set[w.Lower] = true
		}
	}
	return set
}
