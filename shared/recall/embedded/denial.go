package embedded

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/text"
)

var (
	// openQuestions begin English questions that neither "yes", "no" nor "not often" answers.
	openQuestions = text.WordSet("what which who whom whose where when what's who's where's")
	// denying words turn the verb behind them around.
	denying = text.WordSet("not no never cannot without neither nor dont cant wont isnt cancelled canceled")
)

const (
	// denialReach is the maximum distance, in words, of a denying word before its verb.
	denialReach = 3
	// opposed is the weight of a statement that denies what the question asserts, or the other way round.
	opposed = 0.8
)

// readDenial reads whether a question is an open one in English, and whether it denies something: "what can't I eat".
func (a *asked) readDenial(words []text.Word) {
	a.open = len(words) > 0 && openQuestions[words[0].Lower]
	a.denies = slices.ContainsFunc(words, isDenying)
}

func isDenying(w text.Word) bool { return denying[w.Lower] || strings.HasSuffix(w.Lower, "n't") }

// opposes reports whether a statement only denies the words of a question that asserts them, or only asserts the words
// of a question that denies them. "I can eat soy again" does not tell what the user cannot eat. Only open questions in
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

// sharesMore reports whether two statements share a content word that the question does not have.
func (a asked) sharesMore(one, other string) bool {
	have := text.StemSet(recall.Plain(other))
	for stem := range text.StemSet(recall.Plain(one)) {
		if have[stem] && !slices.ContainsFunc(a.words, func(q wanted) bool { return q.stem == stem }) {
			return true
		}
	}
	return false
}
