package text

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostAnswered bounds the words of a reply that may need its question.
const mostAnswered = 8

var (
	// polar words begin an answer to a question for yes or no, without accents.
	polar = wordLists.Set("polar")
	// quantities are answers without a noun.
	quantities = Union(keys(counts), vagueCounts, WordSet("zero once twice half dozen hundred"))
	// orders are verbs that begin an order to an assistant.
	orders = wordLists.Set("orders")
	// softening words stand before an order.
	softening = WordSet("just please now then so ok okay well first actually instead and but rather bitte por favor")
	// moving words ask for something else, unless a time follows them.
	moving = WordSet("next another more again anything")
	// reacting words are no answers.
	reacting = wordLists.Set("reacting")
	// evasive words, behind "not" or alone, give no answer.
	evasive  = WordSet("know idea sure clue tell say remember saying telling answer")
	refusing = WordSet("no not don't dont can't cannot rather won't never")
)

// Question returns the last sentence of a text if it is a question, or "".
func Question(sentences []string) string {
	if len(sentences) == 0 {
		return ""
	}
	last := sentences[len(sentences)-1]
	if end, _ := utf8.DecodeLastRuneInString(strings.TrimRight(last, ` "'”)*_`)); !strings.ContainsRune("?？؟", end) {
		return ""
	}
	return last
}

// NeedsQuestion reports whether a short reply may be the answer to a question. An order, a question, a reaction and an
// evasion answer none.
func NeedsQuestion(question, reply string) bool {
	words := Words(reply)
	if len(words) == 0 || len(words) > mostAnswered || Question([]string{reply}) != "" {
		return false
	}
	return polar[foldAccents(words[0].Lower)] || !isOrder(Words(question), reply, words) && !isReaction(reply, words)
}

// IsBareAnswer reports whether a reply is hardly more than "yes", "no" or a quantity, so that it says nothing without a
// question.
func IsBareAnswer(reply string) bool {
	words := Words(reply)
	const most = 3
	if len(words) == 0 || len(words) > most || Question([]string{reply}) != "" {
		return false
	}
	if quantities[words[0].Lower] || words[0].Number {
		return true
	}
	for i, w := range words {
		if said := polar[foldAccents(w.Lower)]; !said && (i == 0 || !IsFiller(reply, words, i)) {
			return false
		}
	}
	return true
}

// Evades reports whether a reply gives no answer: "I don't know", "rather not say".
func Evades(reply string) bool {
	words := Words(reply)
	denied := slices.IndexFunc(words, func(w Word) bool { return refusing[w.Lower] })
	return denied >= 0 && slices.ContainsFunc(words[denied:], func(w Word) bool { return evasive[w.Lower] })
}

// isOrder reports whether a reply tells its reader to do something, or to move on. "Make pancakes" answers "What do you
// do on Sundays?".
func isOrder(question []Word, reply string, words []Word) bool {
	for len(words) > 1 && softening[words[0].Lower] {
		words = words[1:]
	}
	if moving[words[0].Lower] {
		_, _, isUnit := dater{text: reply, words: words}.unit(1)
		return len(words) < 2 || !isUnit && !timeWords[words[1].Lower]
	}
	return orders[words[0].Lower] && !asksDeed(question)
}

// asksDeed reports whether a question asks for an action.
func asksDeed(question []Word) bool {
	does := 0
	for _, w := range question {
		switch w.Lower {
		case "do", "did", "does":
			does++
		case "doing":
			does += 2
		}
	}
	return does > 1 && questionWords[question[0].Lower]
}

// isReaction reports whether a reply has only words of reaction and fillers.
func isReaction(reply string, words []Word) bool {
	return !slices.ContainsFunc(words, func(w Word) bool {
		i := slices.Index(words, w)
		return w.Number || quantities[w.Lower] || polar[foldAccents(w.Lower)] ||
			!reacting[w.Lower] && !IsFiller(reply, words, i) &&
				strings.ContainsFunc(w.Lower, unicode.IsLetter)
	})
}

// advice opens the advice of one of the speaker's people on the speaker's own life: "My doctor told me to never take",
// "My coach says I must rest". Group 1 is the person, group 2 the first verb of the advice.
var advice = regexp.MustCompile(`^[^\pL\pN]*(?i:(?:my|our)(?: \pL+)? (\pL+) (?:` +
	`told (?:me|us) (?:never to|not to|to(?: never| always| not)?)` +
	`|(?:told (?:me|us)|says?|said)(?: that)? (?:(?:i|we)(?: really| just)? ` +
	`(?:must|should|have to|need to|had to|ought to|can['’]?t|cannot|may not|mustn['’]t|shouldn['’]t|(?:am|are) not allowed to)|(?:i['’]m|we['’]re) not allowed to)` +
	`(?: not| never| always)?)) (\pL+)`)

var (
	// advisers are people whose advice somebody takes for a rule of life.
	advisers = wordLists.Set("advisers")
	// noAdvice are verbs of what others want said, kept or sent.
	noAdvice = WordSet(`say tell claim state write note remember memorize save store record send forward transfer pay
		give trust approve recommend mention pretend`)
	// guess ends in the verbs of a guess: "I must have moved".
	guess = regexp.MustCompile(`(?i)(?:must|should|ought to) (?:have|be|know)$`)
)

// isAdvice reports whether a passage is advice to the speaker alone. The speaker takes it for their own rule, so it is
// no report. A second report, or an address, makes it one.
func isAdvice(passage string) bool {
	at := advice.FindStringSubmatchIndex(passage)
	if at == nil || strings.Contains(passage, "@") || strings.Contains(passage, "://") {
		return false
	}
	person, verb := strings.ToLower(passage[at[2]:at[3]]), strings.ToLower(passage[at[4]:at[5]])
	again := slices.ContainsFunc(Words(passage[at[5]:]), func(w Word) bool { return sayings[w.Lower] })
	return advisers[person] && !noAdvice[verb] && !guess.MatchString(passage[:at[5]]) && !again
}
