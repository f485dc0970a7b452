package query

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/text"
)

// A query is for a fact, a task for an assistant, or a statement to search for. The ranker has other weights for tasks
// than for the rest, because a task needs memories that share few words with it. The package reads the form of an
// English clause alone, and may read it wrong: "how do I take my coffee" counts as a task.

var (
	// ownPast are the auxiliaries of questions about deeds and words of the speaker.
	ownPast = text.WordSet("did didn't have haven't had hadn't was wasn't were weren't")
	// ownNow are further auxiliaries of questions about the speaker, at the beginning of a clause.
	ownNow = text.WordSet("am do don't")
	// talking are past verbs of a conversation: "the order in which I brought up".
	talking = text.WordSet(`said told mentioned brought discussed covered talked explained described asked agreed`)
	// retelling words ask for a story that the user told before.
	retelling = text.WordSet(`summary summaries summarise summarize summarised summarized sum recap retell recount remind
		reminder overview history story tale timeline`)
	// articles behind a first "have" make a task of it: "have a look".
	articles = text.WordSet("a an the some")
	// asking begins a request for such a story.
	asking = text.WordSet(`give list tell show sum summarise summarize remember go need help`)
	// relative words begin a clause about a noun: "a man who has everything".
	relative = text.WordSet("that who which whose where when")
	// before a participle, these words make it part of a noun: "a retired teacher".
	determining = text.WordSet("a an the for with of in on at to and or some any my your")
	// politely are words before the verb of a task, or before a question word.
	politely = text.WordSet("and but so or ok okay hey hi hello oh well please now then also again")
	// tasks are verbs that begin a task.
	tasks = wordLists.Set("tasks")
	// stating are verbs that make a statement, in addition to those in the past.
	stating = text.WordSet(`is are was were has have had does do did will would can could should must may might isn't
		aren't wasn't weren't hasn't haven't doesn't don't didn't won't can't cannot`)
	// addressing are words that a statement about somebody else has not.
	addressing = text.WordSet(`please i i'm i've i'd i'll my me mine we we're we've our us you you're your yours`)
)

var (
	// howIn are words for "how", by the code of the language. They are without accents.
	howIn = map[string]string{
		"de": "wie", "es": "como", "fr": "comment", "it": "come", "nl": "hoe", "pt": "como", "ru": "как",
	}
	// amountsIn may follow a word for "how" in a question for a fact.
	amountsIn = text.WordSet(`viel viele vielen lange oft alt weit hoch gross heisst heissen hiess lautet lautete veel vaak
		lang oud ver llama llamaba s'appelle chiama chiamava долго часто зовут`)
	// countingIn are question words for an amount. A verb of obligation behind them means a debt: "cuánto le debo".
	countingIn = text.WordSet("cuanto cuanta cuantos cuantas quanto quanta quanti quante quantos quantas combien " +
		"wieviel hoeveel сколько")
	// unspacedAsking and unspacedAdvising do the same in languages without spaces.
	unspacedAsking = []string{
		"什么", "谁", "哪", "多少", "几", "何", "誰", "どこ", "いつ", "いくら", "いくつ", "どの", "어디", "누구", "무엇", "언제", "몇", "ใคร", "ไหน",
		"อะไร",
	}
	unspacedAdvising = []string{
		"推荐", "推薦", "建议", "建議", "应该", "可以", "怎么", "如何", "帮我", "请给", "请帮",
		"请你", "おすすめ", "お勧め", "べき", "いい", "良い", "方法", "ください", "추천", "좋을까", "แนะนำ",
	}
)

// wantsFact reports whether a question asks for something that the user or the assistant said, or that holds for them.
func wantsFact(p Phrase, l text.Language) bool {
	if l != text.English {
		return wantsFactIn(p, l)
	}
	clauses := clausesOf(p)
	return slices.ContainsFunc(clauses, func(c clause) bool { return c.wantsFact(len(clauses) > 1) })
}

// wantsFact is wantsFact for an English clause. beside means that other clauses give the
// subject of a question. Then "what do we cook" is a task.
func (c clause) wantsFact(beside bool) bool {
	words, questioned := c.question()
	first := words[0].Lower
	interrogative := isQuestioning(first)
	asks := interrogative || auxiliaries[first] && !(first == "have" && len(words) > 1 && articles[words[1].Lower])
	if asksOwnPast(words) && (asks || questioned) || retells(words) {
		return true
	}
	last := words[len(words)-1].Lower
	isShort := len(words) < 2 || last == "one" || last == "ones" // "Which one?"
	if isShort || containsAny(words, advising) || containsAny(words, offering) || asksHowTo(words) {
		return false
	}
	return asks && !(beside && interrogative && asksWhatToDo(words))
}

// question returns the words of a clause from its question on: "how much was it" of "the tickets, how much was it". The
// question word may come after a comma or a colon. questioned reports whether it does.
func (c clause) question() (words []text.Word, questioned bool) {
	words = c.words
	for i := 1; i+1 < len(words); i++ {
		if strings.ContainsAny(c.said[words[i-1].End:words[i].Start], ",:") && isQuestioning(words[i].Lower) {
			words, questioned = words[i:], true
			break
		}
	}
	for len(words) > 1 && politely[words[0].Lower] {
		words = words[1:]
	}
	if len(words) > 2 && prepositions[words[0].Lower] && (words[1].Lower == "when" || words[1].Lower == "how") {
		words = words[1:]
	}
	return withoutPreposition(words), questioned
}

func isQuestioning(lower string) bool {
	return lower == "when" || lower == "when's" || runTogether[lower] || text.IsQuestionWord(lower)
}

// asksWhatToDo reports whether a clause asks for advice on a deed of the speaker: "what do I bring".
func asksWhatToDo(words []text.Word) bool {
	for i := 1; i+1 < len(words); i++ {
		if words[i].Lower == "do" && (words[i+1].Lower == "i" || words[i+1].Lower == "we") {
			return true
		}
	}
	return false
}

// asksOwnPast reports whether a clause asks for deeds or words of the speaker: "have I met any of them".
func asksOwnPast(words []text.Word) bool {
	for i := 1; i < len(words); i++ {
		switch words[i].Lower {
		case "i", "we", "my", "our":
			before := words[i-1].Lower
			if ownPast[before] || i == 1 && ownNow[before] {
				return true
			}
		}
	}
	return false
}

// retells reports whether a clause asks for an earlier story of the speaker: "sum up how we met", "the order in which
// I brought up".
func retells(words []text.Word) bool {
	if first := words[0].Lower; tasks[first] && !asking[first] {
		return false
	}
	own := false
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1].Lower
		}
		own = own || w.Lower == "i" || w.Lower == "we" || w.Lower == "my" || w.Lower == "our"
		if (w.Lower == "i" || w.Lower == "we") && talking[next] && i > 0 && words[i-1].Lower != "and" {
			return true
		}
	}
	first := words[:min(len(words), 9)]
	perfect := slices.ContainsFunc(words, func(w text.Word) bool { return w.Lower == "has" || w.Lower == "have" })
	return own && containsAny(first, retelling) && (perfect || text.TellsPast(words))
}

// asksHowTo reports whether a clause asks for instructions: "how do I descale a kettle", "how to knit".
func asksHowTo(words []text.Word) bool {
	if words[0].Lower != "how" || len(words) < 2 {
		return false
	}
	if words[1].Lower == "to" {
		return true
	}
	return len(words) > 2 && (words[1].Lower == "do" || words[1].Lower == "does") &&
		slices.Contains([]string{"i", "you", "we", "one"}, words[2].Lower)
}

// wantsFactIn is wantsFact for another language than English. Only a question word shows a question for a fact.
func wantsFactIn(p Phrase, l text.Language) bool {
	said := text.English.Plain(strings.ToLower(p.Text))
	contains := func(cue string) bool { return strings.Contains(said, cue) }
	if len(l.WhenWords()) > 0 && text.IsUnspaced(l.WhenWords()[0]) {
		return slices.ContainsFunc(unspacedAsking, contains) && !slices.ContainsFunc(unspacedAdvising, contains)
	}
	advising := text.WordSet(wordLists["advising "+l.String()]) // the words that ask for advice or an offer
	return len(advising) > 0 && slices.ContainsFunc(clausesOf(p), func(c clause) bool {
		asks, counts := false, false
		for i, w := range c.words {
			word := text.English.Plain(w.Lower)
			counts = counts || countingIn[word]
			if advising[word] && !counts {
				return false
			}
			if i > 2 || asks || !l.IsQuestionWord(word) {
				continue
			}
			asks = word != howIn[l.String()] || slices.ContainsFunc(c.words[i+1:min(i+3, len(c.words))], func(w text.Word) bool {
				return amountsIn[text.English.Plain(w.Lower)]
			})
		}
		return asks
	})
}

// isStatement reports whether a query states something about somebody, and asks nothing. "Ines lives in Graz" is one. A
// statement in another language than English must name the user.
func isStatement(p Phrase, l text.Language) bool {
	if len(p.Words) == 0 || strings.ContainsAny(p.Text, "?？؟") {
		return false
	}
	if begin := append([]text.Word{{Lower: "the"}}, p.Words...); text.NamesUser(begin, 1) {
		return true // "User has a dog."
	}
	for i := range p.Words {
		if text.NamesUser(p.Words, i) {
			return !tasks[p.Words[0].Lower]
		}
	}
	if l != text.English || len(p.Words) < 3 || containsAny(p.Words, addressing) {
		return false
	}
	asks := slices.ContainsFunc(clausesOf(p), func(c clause) bool {
		first := c.words[0].Lower
		return tasks[first] || politely[first] || first == "there" || first == "it" || isQuestioning(first)
	})
	return !asks && !containsAny(p.Words, offering) && hasVerb(p.Words)
}

// hasVerb reports whether a verb in the third person follows the first word of an English text, before any relative
// word.
func hasVerb(words []text.Word) bool {
	for i := 1; i < len(words) && !relative[words[i].Lower]; i++ {
		lower := words[i].Lower
		if stating[lower] || text.IsPersonalVerb(lower) && !determining[words[i-1].Lower] {
			return true
		}
	}
	return false
}
