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
	firstRare
	firstTells
	firstPast
	firstFuture
	secondClauses // clauses that speak of the other one alone
	secondRare
	pointClauses // clauses about "it" or "that" alone
	pointRare
	otherClauses // clauses about somebody or something else
	otherRare
	ownThird // he, she or they beside content

	emptyClauses // clauses without any content
	questions
	questionRare
	questionFirst
	onlyAsks  // nothing is told beside a question
	endsAsked // the last clause asks
	exclaims
	praises
	uplifts
	thanked
	greeted
	agreed
	denied
	interjected
	congratulated
	urged // clauses that begin with what one tells a friend to do
	advised
	size
	brief // at most five words

	captioned
	captionRare
	byAssistant
	assistantFirst
	assistantAdvice
	commanded
	commandedMachine
	machined

	known // there is a turn before
	asked // the turn before asks
	askedRare
	askedBrief
	echoed   // share of the rare words that the turn before has
	novelty  // rare words that are told and that the turn before has not
	features // how many there are
)

var featureNames = [features]string{
	"told_rare", "told_common", "told_long", "told_names", "told_numbers", "told_times", "told_tells", "told_kin", "told_past", "told_best",
	"first_clauses", "first_rare", "first_tells", "first_past", "first_future", "second_clauses", "second_rare", "point_clauses", "point_rare",
	"other_clauses", "other_rare", "own_third",
	"empty_clauses", "questions", "question_rare", "question_first", "only_asks", "ends_asked", "exclaims", "praises", "uplifts", "thanked", "greeted",
	"agreed", "denied", "interjected", "congratulated", "urged", "advised", "size", "brief",
	"captioned", "caption_rare", "by_assistant", "assistant_first", "assistant_advice", "commanded", "commanded_machine", "machined",
	"known", "asked", "asked_rare", "asked_brief", "echoed", "novelty",
}

// vector is a turn as the model sees it.
type vector [features]float64

// backdrop is the turn before, as far as it is known.
type backdrop struct {
	known bool
	asked bool
	heard map[string]bool
}

// backdropOf is what the next turn is held against.
func backdropOf(t *memory.Turn) backdrop {
	if t == nil {
		return backdrop{}
	}
	text := strings.TrimRight(t.Text, " \n\t")
	tail := text[max(0, len(text)-80):]
	return backdrop{known: true, asked: strings.Contains(tail, "?"), heard: rareWords(t.Text)}
}

// featuresOf reads a turn.
func featuresOf(t memory.Turn, before backdrop) vector {
	self := strings.ToLower(t.Speaker)
	clauses := scan(t.Text, self, before.heard)
	var v vector
	words, echoes := 0, 0
	for i := range clauses {
		c := &clauses[i]
		words += c.words
		echoes += c.echoes
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
	if v[questions] > 0 && v[toldRare]+v[toldNames] == 0 {
		v[onlyAsks] = 1
	}
	v[novelty] = v[toldRare] - float64(echoes)
	if v[toldRare]+v[questionRare] > 0 {
		v[echoed] = float64(echoes) / (v[toldRare] + v[questionRare])
	}
	v[size] = float64(words)
	for i := range v {
		if i != echoed {
			v[i] = math.Log1p(max(0, v[i]))
		}
	}
	if words <= 5 {
		v[brief] = 1
	}
	v.addCaption(t.Caption)
	v.addRole(t.Role)
	v.addContext(before)
	return v
}

// addManner counts how a clause speaks, whatever it says.
func (v *vector) addManner(c *clause) {
	if !c.informs() {
		v[emptyClauses]++
	}
	if c.exclaims {
		v[exclaims]++
	}
	v[praises] += float64(c.praises)
	v[uplifts] += float64(c.uplifts)
	v[advised] += float64(c.advices)
	v[thanked] += float64(has(c.seen, thanks))
	v[greeted] += float64(has(c.opener, greeting|farewell))
	v[agreed] += float64(has(c.opener, agree))
	v[denied] += float64(has(c.opener, disagree))
	v[interjected] += float64(has(c.opener, interjection))
	v[congratulated] += float64(has(c.seen, congrats))
	if c.opener&imperative != 0 && c.seen&first == 0 && !c.question {
		v[urged]++
	}
	v[machined] += float64(c.machines)
	if c.seen&first == 0 || c.machines > 1 {
		v[commanded] += float64(c.commands)
		v[commandedMachine] += float64(min(c.commands, c.machines))
	}
}

func (v *vector) addQuestion(c *clause) {
	v[questions]++
	v[questionRare] += float64(c.rare)
	if c.seen&first != 0 {
		v[questionFirst]++
	}
}

// addTold counts what a clause that asks nothing tells, and of whom.
func (v *vector) addTold(c *clause) {
	rare := float64(c.rare)
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
	switch {
	case !c.informs():
	case c.seen&first != 0:
		v[firstClauses]++
		v[firstRare] += rare
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
	v[captionRare] = math.Log1p(float64(len(rareWords(caption))))
}

func (v *vector) addRole(r memory.Role) {
	if r != memory.RoleAssistant {
		return
	}
	v[byAssistant] = 1
	v[assistantFirst] = v[firstClauses]
	v[assistantAdvice] = v[advised]
}

func (v *vector) addContext(before backdrop) {
	if !before.known {
		return
	}
	v[known] = 1
	if before.asked {
		v[asked] = 1
		v[askedRare] = v[toldRare]
		v[askedBrief] = v[brief]
	}
}
