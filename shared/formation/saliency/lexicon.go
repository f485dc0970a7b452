package saliency

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// class says what a word does in a chat; a word may be of several classes.
type class uint64

// The classes of the lexicon, in its own names.
const (
	first class = 1 << iota
	second
	third
	demonstrative
	greeting
	farewell
	thanks
	apology
	agree
	disagree
	interjection
	congrats
	praise
	feeling
	uplift
	filler
	common
	kin
	tell
	past
	future
	habit
	timely
	numeral
	negation
	modal
	advice
	asking
	imperative
	command
	machine
)

// chatty words fill a reply without telling anything.
const chatty = greeting | farewell | thanks | apology | agree | interjection | congrats | praise | feeling | uplift | filler

var classNames = map[string]class{
	"first": first, "second": second, "third": third, "demonstrative": demonstrative,
	"greeting": greeting, "farewell": farewell, "thanks": thanks, "apology": apology, "agree": agree, "disagree": disagree,
	"interjection": interjection, "congrats": congrats, "praise": praise, "feeling": feeling, "uplift": uplift, "filler": filler,
	"common": common, "kin": kin, "relation": kin, "tell": tell, "past": past, "future": future, "habit": habit,
	"time": timely, "number": numeral, "negation": negation, "modal": modal, "advice": advice, "asking": asking,
	"imperative": imperative, "command": command, "machine": machine,
}

//go:embed lexicon.txt
var lexiconText string

// lexicon is read once and never changes.
var lexicon = readLexicon(lexiconText)

// readLexicon panics on a line it does not know, because then the binary itself is broken.
func readLexicon(text string) map[string]class {
	words := map[string]class{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, list, _ := strings.Cut(line, ":")
		base, inflects := strings.CutPrefix(name, "+")
		c, ok := classNames[base]
		if !ok {
			panic(fmt.Sprintf("the compiled-in lexicon has an unknown class %q", name))
		}
		for w := range strings.FieldsSeq(list) {
			words[w] |= c
			if inflects {
				inflect(w, func(form string) { words[form] |= c })
			}
		}
	}
	return words
}

// inflect calls add with the regular forms of a verb, noun or adjective. Forms that do not exist
// do no harm.
func inflect(w string, add func(string)) {
	if len(w) < 3 {
		return
	}
	last, before := w[len(w)-1], w[len(w)-2]
	stem := w
	switch {
	case last == 'e':
		stem = w[:len(w)-1]
	case last == 'y' && !isVowel(before):
		add(w[:len(w)-1] + "ies")
		add(w[:len(w)-1] + "ied")
		add(w + "ing")
		return
	case len(w) <= 5 && !isVowel(last) && isVowel(before) && !isVowel(w[len(w)-3]) && !strings.ContainsRune("wxy", rune(last)):
		stem = w + string(last)
	}
	add(stem + "ed")
	add(stem + "ing")
	add(w + "s")
	if strings.ContainsRune("sxzh", rune(last)) {
		add(w + "es")
	}
}

func isVowel(c byte) bool { return strings.IndexByte("aeiou", c) >= 0 }

//go:embed idioms.txt
var idiomsText string

// idioms are by their first word, longer ones first; read once, never changed.
var idioms = readIdioms(idiomsText)

func readIdioms(text string) map[string][][]string {
	found := map[string][][]string{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] == "#" {
			continue
		}
		found[words[0]] = append(found[words[0]], words[1:])
	}
	for _, rest := range found {
		slices.SortStableFunc(rest, func(a, b []string) int { return len(b) - len(a) })
	}
	return found
}
