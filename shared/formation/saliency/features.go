package saliency

import (
	"math"
	"strings"

	"github.com/mneme-memory/mneme/shared/memory"
)

// The features of a turn. Counts enter as log(1+n), so that the tenth word adds less than the
// first. "Told" is what stands in clauses that ask nothing.
const (
	toldRare = iota
	toldCommon
	toldLong
	toldNames
	toldNumbers
	toldTimes
	toldTells
	toldKin
	toldPast
	toldBest // the most content in one clause

	firstClauses // clauses that tell of the speaker
	firstOpens   // clauses that begin with the speaker
	firstRare
	firstCommon
	firstTells
	firstPast
	firstFuture
	secondClauses // clauses that speak of the other one alone
	secondRare
	pointClauses // clauses about "it" or "that" alone
	pointRare
	otherClauses // clauses about somebody or something else
	otherRare
	gushClauses // clauses that praise and do not speak of the speaker
	gushRare
	gladRare // content beside praise in clauses of the speaker
	ownThird // he, she or they beside content

	emptyClauses // clauses without any content
	idiomatic
	questions
	questionRare
	questionNames
	questionNumbers // numbers and words of time
	questionFirst
	hollow    // nothing at all is told
	onlyAsks  // nothing is told beside a question
	endsAsked // the last clause asks
	praises
	uplifts
	thanked
	greeted
	agreed
	denied
	interjected
	congratulated
	urged // clauses that begin with what one tells a friend to do
	size
	brief       // at most five words
	chattyShare // share of the words that are small talk
	density     // share of the words that are told and carry content

	captioned
	captionRare
	byAssistant
	assistantFirst
	assistantAdvice
	commanded // commands to a machine, beside words of machines
	machined

	features // how many there are
)

var featureNames = [features]string{
	"told_rare", "told_common", "told_long", "told_names", "told_numbers", "told_times", "told_tells", "told_kin", "told_past", "told_best",
	"first_clauses", "first_opens", "first_rare", "first_common", "first_tells", "first_past", "first_future", "second_clauses",
	"second_rare", "point_clauses", "point_rare",
	"other_clauses", "other_rare", "gush_clauses", "gush_rare", "glad_rare", "own_third",
	"empty_clauses", "idiomatic", "questions", "question_rare", "question_names", "question_numbers", "question_first", "hollow",
	"only_asks", "ends_asked", "praises", "uplifts", "thanked", "greeted",
	"agreed", "denied", "interjected", "congratulated", "urged", "size", "brief", "chatty_share", "density",
	"captioned", "caption_rare", "by_assistant", "assistant_first", "assistant_advice", "commanded", "machined",
}

// vector is a turn as the model sees it.
type vector [features]float64

// featuresOf reads a turn.
func featuresOf(t memory.Turn) vector {
	clauses := scan(t.Text, strings.ToLower(t.Speaker))
	var v vector
	words, chats, advices := 0, 0, 0
	for i := range clauses {
		c := &clauses[i]
		words += c.words
		chats += c.chats
		advices += c.advices
		v.addManner(c)
		if c.question {
			v.addQuestion(c)
			continue
		}
		v.addTold(c)
	}
	if n := len(clauses); n > 0 && clauses[n-1].question {
		v[endsAsked] = 1
	}
	if v[firstClauses]+v[secondClauses]+v[pointClauses]+v[otherClauses]+v[gushRare]+v[toldNames]+v[toldNumbers] == 0 {
		v[hollow] = 1
	}
	if v[questions] > 0 && v[toldRare]+v[toldNames] == 0 {
		v[onlyAsks] = 1
	}
	v[size] = float64(words)
	if t.Role == memory.RoleAssistant {
		v[assistantAdvice] = float64(advices)
	}
	v[chattyShare] = float64(chats) / float64(max(1, words))
	v[density] = (v[toldRare] + v[toldNames] + v[toldNumbers]) / float64(max(1, words))
	for i := range v {
		if i != chattyShare && i != density {
			v[i] = math.Log1p(max(0, v[i]))
		}
	}
	if words <= 5 {
		v[brief] = 1
	}
	v.addCaption(t.Caption)
	v.addRole(t.Role)
	return v
}

// addManner counts how a clause speaks, whatever it says.
func (v *vector) addManner(c *clause) {
	if !c.informs() {
		v[emptyClauses]++
	}
	v[idiomatic] += float64(c.idioms)
	v[praises] += float64(c.praises)
	v[uplifts] += float64(c.uplifts)
	v[thanked] += float64(has(c.seen, thanks))
	v[greeted] += float64(has(c.opener, greeting|farewell))
	v[agreed] += float64(has(c.opener, agree))
	v[denied] += float64(has(c.opener, disagree))
	v[interjected] += float64(has(c.opener, interjection))
	v[congratulated] += float64(has(c.seen, congrats))
	if c.opener&imperative != 0 && c.seen&first == 0 && !c.question {
		v[urged]++
	}
	v[machined] += float64(max(0, c.machines-1))
	if c.opener&first == 0 {
		v[commanded] += float64(min(c.commands, c.machines+c.totals))
	}
}

func (v *vector) addQuestion(c *clause) {
	v[questions]++
	v[questionRare] += float64(c.rare)
	v[questionNames] += float64(c.names)
	v[questionNumbers] += float64(c.numbers + c.times)
	if c.seen&first != 0 {
		v[questionFirst]++
	}
}

// addTold counts what a clause that asks nothing tells, and of whom.
func (v *vector) addTold(c *clause) {
	rare := float64(c.rare)
	if c.gushes() {
		v[gushClauses]++
		v[gushRare] += rare
		v[toldNames] += float64(c.names)
		v[toldNumbers] += float64(c.numbers)
		return
	}
	v[toldRare] += rare
	v[toldCommon] += float64(c.common)
	v[toldLong] += float64(c.long)
	v[toldNames] += float64(c.names)
	v[toldNumbers] += float64(c.numbers)
	v[toldTimes] += float64(c.times)
	v[toldTells] += float64(c.tells)
	v[toldKin] += float64(c.kins)
	v[toldPast] += float64(c.pasts)
	v[toldBest] = max(v[toldBest], rare+float64(c.names+c.numbers+c.times)+0.3*float64(c.common))
	if c.seen&third != 0 && c.informs() {
		v[ownThird]++
	}
	if c.seen&first != 0 {
		v[firstCommon] += float64(c.common)
		v[firstOpens] += float64(has(c.opener, first))
	}
	switch {
	case !c.informs():
	case c.seen&first != 0:
		v[firstClauses]++
		if c.praises+c.uplifts > 0 {
			v[gladRare] += rare
		} else {
			v[firstRare] += rare
		}
		v[firstTells] += float64(c.tells)
		v[firstPast] += float64(c.pasts)
		v[firstFuture] += float64(has(c.seen, future))
	case c.seen&second != 0:
		v[secondClauses]++
		v[secondRare] += rare
	case c.opener&demonstrative != 0:
		v[pointClauses]++
		v[pointRare] += rare
	default:
		v[otherClauses]++
		v[otherRare] += rare
	}
}

func (v *vector) addCaption(caption string) {
	if strings.TrimSpace(caption) == "" {
		return
	}
	v[captioned] = 1
	v[captionRare] = math.Log1p(float64(contentWords(caption)))
}

func (v *vector) addRole(r memory.Role) {
	if r != memory.RoleAssistant {
		return
	}
	v[byAssistant] = 1
	v[assistantFirst] = v[firstClauses]
}
