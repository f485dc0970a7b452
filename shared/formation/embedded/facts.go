package embedded

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/text"
)

// between matches the text between two facts, or between a fact and its detail. It is an "and" of the supported
// languages, a list sign, a comma, a colon, or the end of a sentence.
var between = regexp.MustCompile(`(?i)\s(?:and|but|so|plus|also|or|though|while|yet|und|oder|y|et|ou|e|och|og)\s|:?\s*\n\s*(?:[-*•]\s)?|[;&•·|；]|` +
	`\s[-*]\s|,\s|[—–，、]|[。！？]+|[.!?…]+(?:\s|$)|:\s`)

// ending is the sign at the end of a sentence.
var ending = regexp.MustCompile(`[.!?…。！？\n]`)

// fact is a run of a quotation that may change by itself.
type fact struct {
	text string
	// sign is the separator after the fact.
	sign string
}

// facts cuts a quotation wherever another fact may begin. One with a bracket, which says what its words are about, is
// one fact.
func facts(said string) []fact {
	if strings.Contains(said, "[") {
		return []fact{{text: said}}
	}
	var out []fact
	from := 0
	add := func(to, next int) {
		if strings.TrimSpace(said[from:to]) == "" && len(out) > 0 {
			out[len(out)-1].sign += said[from:next]
		} else if strings.TrimSpace(said[from:to]) != "" {
			out = append(out, fact{said[from:to], said[to:next]})
		}
		from = next
	}
	for _, m := range between.FindAllStringIndex(said, -1) {
		if m[0] >= from {
			add(m[0], m[1])
		}
	}
	add(len(said), len(said))
	return bound(out)
}

// bound joins a clause to the later clause that it depends on: "when I can't sleep, I read".
func bound(list []fact) []fact {
	var out []fact
	for _, f := range list {
		if n := len(out) - 1; n >= 0 {
			if words := text.Words(out[n].text); len(words) > 0 && opening[words[0].Lower] && !ending.MatchString(out[n].sign) {
				out[n] = fact{out[n].text + out[n].sign + f.text, f.sign}
				continue
			}
		}
		out = append(out, f)
	}
	return out
}

// heads reports whether a fact only names the subject of the list after it.
func (f fact) heads() bool { return strings.HasPrefix(f.sign, ":") }

// Facts cuts a quotation into the runs of words that may change by themselves.
func Facts(said string) []string {
	var out []string
	for _, f := range facts(said) {
		out = append(out, f.text)
	}
	return out
}

// Thresholds for the facts of a changed entry, of which at least one has changed. The likeliest fact is gone from
// likelyGone on. It is gone from leastGone on if it is clearly likelier than each other fact. Further facts are
// gone from alsoGone on, where they are nearly as likely.
const (
	likelyGone = 0.55
	leastGone  = 0.2
	clearly    = 3
	alsoGone   = 0.8
	nearly     = 0.8
)

// goneOdds are the log-odds that facts of a changed entry hold no more over what their probabilities have to be.
func goneOdds(probabilities []float64) []float64 {
	out, sorted := make([]float64, len(probabilities)), slices.Sorted(slices.Values(probabilities))
	n := len(sorted) - 1
	for i, p := range probabilities {
		most, next := sorted[n], sorted[max(0, n-1)]
		if out[i] = decision.Above(most, min(likelyGone, max(leastGone, clearly*next))); p < most {
			out[i] = min(out[i], decision.Above(p, max(alsoGone, nearly*most)))
		}
	}
	return out
}

// Gone returns the facts of a changed entry that no longer hold, by the rules and their probabilities. It returns no
// fact where the result is not clear.
func Gone(probabilities []float64) []bool {
	out := make([]bool, len(probabilities))
	for i, odds := range goneOdds(probabilities) {
		out[i] = odds > 0
	}
	return out
}

// GoneFrom returns the facts of a changed entry that no longer hold after a message, by the rules.
func GoneFrom(said, message string, probabilities []float64) []bool {
	return Gone(onlyNamed(facts(said), message, probabilities))
}

// sharesGone reports whether the last fact only describes a statement that is gone: "mostly on night shifts".
func sharesGone(list []fact, gone []bool) bool {
	for i := len(list) - 1; i > 0; i-- {
		if !describes(list[i].text) || ending.MatchString(list[i-1].sign) || list[i-1].heads() {
			return false
		}
		if gone[i-1] {
			return true
		}
	}
	return false
}

// describing words begin an adverbial of place, time, manner or reason.
var describing = text.WordSet(`mostly mainly usually always often sometimes only just on in at near with without for
	from since until during because which where when while at by every each twice once then so`)

// describes reports whether a part begins an adverbial and has no clause of its own.
func describes(part string) bool {
	words := text.Words(part)
	return len(words) > 0 && describing[words[0].Lower] && !slices.ContainsFunc(words, func(w text.Word) bool {
		return subjects[w.Lower] && !possessives[w.Lower]
	})
}

// Without returns a quotation without the facts that are gone; it is empty when no fact is left. sure is false where
// no fact is gone. The head of a list stays with the remaining entries. An adverbial in English ends
// with its statement: "mostly on night shifts" behind "I work as a nurse".
func Without(said string, gone []bool) (rest string, sure bool) {
	list := facts(said)
	if len(list) == 1 {
		return "", true
	}
	if len(gone) != len(list) || !slices.Contains(gone, true) {
		return "", false
	}
	kept, left := make([]bool, len(list)), false // left is whether any behind a fact is kept
	e, listed := enumerationIn(list)
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].heads() {
			kept[i] = left
			continue
		}
		kept[i] = !gone[i] && (listed && e.from < i && i < e.to || !sharesGone(list[:i+1], gone))
		left = left || kept[i]
	}
	passHead(list, kept)
	var b strings.Builder
	for i, sign := 0, ""; i < len(list); i++ { // sign is what parts the next fact that is kept from the last
		if !kept[i] {
			if !ending.MatchString(sign) {
				sign = list[i].sign
			}
			continue
		}
		if b.Len() > 0 {
			b.WriteString(sign)
		}
		b.WriteString(list[i].text)
		sign = list[i].sign
	}
	if last := list[len(list)-1].sign; b.Len() > 0 {
		b.WriteString(strings.TrimRight(last, " \t\n"))
	}
	return strings.TrimSpace(b.String()), true
}
