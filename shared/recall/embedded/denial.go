package embedded

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/text"
)

// denying words turn the verb behind them around.
var denying = text.WordSet("not no never cannot without neither nor dont cant wont isnt cancelled canceled")

const (
	// denialReach is the maximum distance, in words, of a denying word before its verb.
	denialReach = 3
	// opposed is the weight of a statement that opposes the question.
	opposed = 0.8
)

// readDenial reads whether a question is an open one, and whether it denies something: "what can't I eat". "Not often"
// answers a question with "how".
func (a *asked) readDenial(words []text.Word) {
	a.open = a.plain && !strings.HasPrefix(words[0].Lower, "how")
	a.denies = slices.ContainsFunc(words, isDenying)
}

func isDenying(w text.Word) bool { return denying[w.Lower] || strings.HasSuffix(w.Lower, "n't") }

// opposes reports whether a statement only denies the words of a question that asserts them, or only asserts the words
// of a question that denies them. "I can eat soy again" names no forbidden food. Only open questions in
// English are compared: a denial answers the others.
func (a asked) opposes(content string) bool {
	if !a.open {
		return false
	}
	words, asserted, denied := text.Words(recall.Plain(content)), false, false
	for i, w := range words {
		if !slices.ContainsFunc(a.words, func(q wanted) bool { return q.stem == text.Stem(w.Lower) }) {
			continue
		}
		if slices.ContainsFunc(words[max(0, i-denialReach):i], isDenying) {
			denied = true
		} else {
			asserted = true
		}
	}
	return asserted != denied && denied != a.denies
}

// pointing words stand for a thing of an older statement.
var pointing = text.WordSet("it there that them this")

// sharesMore reports whether a statement shares a content word with another that the question does not have, or points
// back to its thing: "I don't work there any more".
func (a asked) sharesMore(one, other string) bool {
	if slices.ContainsFunc(text.Words(one), func(w text.Word) bool { return pointing[w.Lower] }) {
		return true
	}
	have := text.StemSet(recall.Plain(other))
	for stem := range text.StemSet(recall.Plain(one)) {
		if have[stem] && !slices.ContainsFunc(a.words, func(q wanted) bool { return q.stem == stem }) {
			return true
		}
	}
	return false
}
