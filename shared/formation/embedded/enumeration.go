package embedded

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/text"
)

// enumeration is a run of facts that share the beginning of the first: "I can't eat" before "nuts", "eggs" and "fish".
type enumeration struct {
	// from is the index of the first fact, and to is the index behind the last.
	from, to int
	// head is the beginning that all items share.
	head string
}

// coordinates matches the word before the last item.
var coordinates = regexp.MustCompile(`(?i)\s(?:and|or|und|oder|y|et|ou|e|och|og)\s|&`)

// longestItem is the maximum number of words of an item.
const longestItem = 4

// enumerationIn returns the first enumeration of a quotation.
func enumerationIn(list []fact) (enumeration, bool) {
	for from := 0; from+1 < len(list); from++ {
		if list[from].heads() || ending.MatchString(list[from].sign) || text.CountWords(list[from].text) < 2 {
			continue
		}
		first, to := text.Words(list[from].text), from+1
		for to < len(list) && isItem(list[to].text, first) {
			if to++; ending.MatchString(list[to-1].sign) || list[to-1].heads() {
				break
			}
		}
		second := text.Words(list[from+1].text)
		if to-from < 2 || !coordinates.MatchString(list[to-2].sign) {
			continue // the facts behind it may describe it: "on Monday, fasting, at the clinic"
		}
		if to-from > 2 || to-from == 2 && (len(second) == 1 || parallel(first, second) > 0) {
			return enumeration{from, to, list[from].text[:itemAt(list[from].text, first, second)]}, true
		}
	}
	return enumeration{}, false
}

// isItem reports whether a fact is an item behind a first fact. It has no clause of its own.
func isItem(said string, first []text.Word) bool {
	words := text.Words(said)
	if len(words) == 0 || len(words) > longestItem || subjects[words[0].Lower] && !possessives[words[0].Lower] ||
		opening[words[0].Lower] {
		return false
	}
	if parallel(first, words) > 0 {
		return true
	}
	return !describes(said) && !slices.ContainsFunc(words[1:], func(w text.Word) bool {
		return text.IsFiller(said, []text.Word{w}, 0)
	})
}

// parallel returns the index of the word in a first fact that an item begins with, too: "to" in "I'm going to Porto in
// May and to Lisbon in July". It returns 0 for no such word.
func parallel(first, item []text.Word) int {
	for i := len(first) - 2; i > 0; i-- {
		if len(item) > 1 && first[i].Lower == item[0].Lower {
			return i
		}
	}
	return 0
}

// beings are forms of "be". The words behind them are the item, and no verb.
var beings = text.WordSet("am is are was were be been i'm we're he's she's they're im")

// itemAt returns the first byte of the item in a first fact. It is the run of words with content at the end, without
// the verb behind the subject. In other languages than English it is the last word.
func itemAt(said string, first, second []text.Word) int {
	if i := parallel(first, second); i > 0 {
		return first[i].Start
	}
	at, verb := len(first)-1, len(first)-2
	if subjects[first[0].Lower] && !possessives[first[0].Lower] {
		verb = slices.IndexFunc(first, func(w text.Word) bool { return !isHelper(said, w) })
		if verb > 0 && beings[first[verb-1].Lower] {
			verb--
		}
	}
	for at-1 > verb && !isHelper(said, first[at-1]) {
		at--
	}
	return first[at].Start
}

// isHelper reports whether a word is a pronoun, an auxiliary, a preposition or another filler.
func isHelper(said string, w text.Word) bool {
	return subjects[w.Lower] || text.IsFiller(said, []text.Word{w}, 0) || strings.HasSuffix(w.Lower, "n't")
}

var (
	// excepting words name an item that stays, beside others that go.
	excepting = text.WordSet(`only except besides apart but just still nur außer ausser noch solo sólo salvo excepto
		menos todavía sauf seulement encore soltanto tranne ancora exceto só ainda alleen behalve nog`)
	// universal words stand for all items.
	universal = text.WordSet(`all any anything everything nothing none every both alle alles nichts beide todo todas
		todos nada ninguna ninguno tout tous toutes rien tutto tutti tutte niente tudo nenhuma nenhum allemaal niets`)
)

// leastEach is the least probability that each fact is gone where a message names every one.
const leastEach = 0.5

// onlyNamed changes the probabilities that facts are gone, by the names in a message. Where it names every fact, all
// are. Where it names an item of an enumeration that is gone, the other items stay. Where it names no item, but all of
// them ("all my allergies"), all are gone.
func onlyNamed(list []fact, message string, gone []float64) []float64 {
	if len(gone) == len(list) && len(list) > 1 && slices.Min(gone) >= leastEach && namesEach(list, message) {
		return slices.Repeat([]float64{slices.Max(gone)}, len(gone))
	}
	e, ok := enumerationIn(list)
	has := func(set map[string]bool) bool {
		return slices.ContainsFunc(text.Words(message), func(w text.Word) bool { return set[w.Lower] })
	}
	if !ok || len(gone) != len(list) || has(excepting) {
		return gone
	}
	said, out, named, changed := text.StemSet(message), slices.Clone(gone), false, false
	for i := e.from; i < e.to; i++ {
		item := list[i].text
		if i == e.from {
			item = item[len(e.head):]
		}
		if !namesAny(said, item) {
			out[i] = 0
			continue
		}
		named, changed = true, changed || gone[i] >= leastGone
	}
	switch {
	case changed:
		return out
	case !named && has(universal) && gone[e.from] >= likelyGone:
		for i := e.from; i < e.to; i++ {
			out[i] = gone[e.from]
		}
		return out
	}
	return gone
}

// namesAny reports whether words of a message name a text.
func namesAny(said map[string]bool, of string) bool {
	return slices.ContainsFunc(text.ContentStems(plain(of)), func(stem string) bool { return said[stem] })
}

// namesEach reports whether a message names every fact of a quotation.
func namesEach(list []fact, message string) bool {
	said := text.StemSet(message)
	return !slices.ContainsFunc(list, func(f fact) bool { return !namesAny(said, f.text) })
}

// passHead gives the head of an enumeration to its first item that stays, where the first fact is gone.
func passHead(list []fact, kept []bool) {
	e, ok := enumerationIn(list)
	if !ok || kept[e.from] {
		return
	}
	if at := slices.Index(kept[e.from:e.to], true); at >= 0 {
		list[e.from+at].text = e.head + list[e.from+at].text
	}
}
