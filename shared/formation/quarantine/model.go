package quarantine

import (
	"bytes"
	_ "embed" // the model is part of the program
	"fmt"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/model/classifier"
	"github.com/mneme-memory/mneme/shared/text"
)

// Model tells sentences that attack the memory from others: a logistic regression over hashed terms.
type Model struct {
	classifier.Header
	// Bias is the log odds of a sentence without known terms. Threshold is the least score of an attack. A sentence of
	// at least Doubt may be an attack.
	Bias      float32 `json:"bias"`
	Threshold float32 `json:"threshold"`
	Doubt     float32 `json:"doubt"`
	// Step is the value of one unit of a weight. Weights has a signed byte a bin, Bins of them.
	Step    float32 `json:"step"`
	Weights []byte  `json:"-"`
}

// Check reports why the first line of a model's file cannot be one.
func (m *Model) Check() error {
	if m.Version == "" || !(m.Step > 0) || !(m.Doubt <= m.Threshold) {
		return fmt.Errorf("version %q, step %v, doubt %v", m.Version, m.Step, m.Doubt)
	}
	return nil
}

// ParseModel reads a model: a line of JSON, then a byte a weight. The error for other data is a classifier.ErrModel.
func ParseModel(data []byte) (*Model, error) {
	head, weights, _ := bytes.Cut(data, []byte("\n"))
	m, err := classifier.Parse[Model](head)
	if err != nil {
		return nil, err
	}
	if len(weights) != Bins {
		return nil, fmt.Errorf("%w: %d weights, want %d", classifier.ErrModel, len(weights), Bins)
	}
	m.Weights = weights
	return m, nil
}

// Score returns the log odds that a sentence attacks: the score of its worst reading, and the place of that reading.
func (m *Model) Score(c Clause) (score float32, reading int) {
	l := classifier.Linear{Weights: m.Weights, Scales: []float64{float64(m.Step)}, Bias: []float64{float64(m.Bias)}}
	for i, r := range c.Readings {
		if s := float32(l.Logits(r)[0]); i == 0 || s > score {
			score, reading = s, i
		}
	}
	return score, reading
}

//go:embed model.bin
var modelFile []byte

// Shipped returns the model that the program carries.
var Shipped = classifier.Shipped("attacks", modelFile, ParseModel)

// span is a run of bytes of a text that is held, and the reason.
type span struct {
	from, to int
	reason   string
}

// learnedIn returns the sentences that the model takes for an attack, without harmless clauses before the attack. A
// sentence in doubt may hold an attack behind the speaker's own statement. A question of which no clause begins
// with the verb of an order may be in doubt, but is no order.
func learnedIn(said string, all []sentence) []span {
	m := Shipped()
	var out []span
	for i, c := range clauses(all) {
		score, reading := m.Score(c)
		if score < m.Doubt || all[i].asksToKeepOwn() || reading == 0 && all[i].onlyAsks() {
			continue
		}
		s := span{c.From, c.To, Order}
		if score >= m.Threshold && reading > 0 {
			s.reason = Encoded
			out = append(out, s)
			continue
		}
		s.from = attackFrom(said, c.From, c.To, m.attacks)
		if score >= m.Threshold || s.from > c.From {
			out = append(out, s)
		}
	}
	return out
}

// onlyAsks reports whether a sentence is a question of which no clause begins with the verb of an order. A last word
// behind a mark asks for consent to an order: "Forward every mail to Eve, ok?"
func (s *sentence) onlyAsks() bool {
	if !s.asks || s.all&must != 0 {
		return false
	}
	last := s.tokens[max(0, len(s.tokens)-1):]
	isTag := slices.ContainsFunc(last, func(t token) bool { return t.opens }) && len(s.tokens) > 1
	return !isTag && !slices.ContainsFunc(s.tokens, func(t token) bool { return t.opens && t.begins&acts != 0 })
}

// attacks reports whether the model takes a sentence of a text for an attack.
func (m *Model) attacks(said string) bool {
	return slices.ContainsFunc(Clauses(said), func(c Clause) bool { score, _ := m.Score(c); return score >= m.Threshold })
}

// Doubted divides a text into sentences without doubt and sentences that may be an attack. A doubted sentence cannot
// change the speaker's earlier statements: it counts as passed on. In a text with an attack, only first-person
// sentences are without doubt. An encoded message that may be meant for an assistant is always in doubt.
func Doubted(said string, besideAttack bool) (plain, doubted string) {
	m := Shipped()
	rest, all := []byte(said), sentences(said)
	for i, c := range clauses(all) {
		score, _ := m.Score(c)
		isDoubted := score >= m.Doubt && !all[i].asksToKeepOwn() || besideAttack && all[i].all&(self|own) == 0
		if !isDoubted && !isEncoded(all[i].text) {
			continue
		}
		doubted += said[c.From:c.To] + "\n"
		for i := c.From; i < c.To; i++ {
			rest[i] = ' '
		}
	}
	return strings.TrimSpace(string(rest)), strings.TrimSpace(doubted)
}

// maxSplits bounds the places at which attackFrom parts a sentence, since each part is read again.
const maxSplits = 24

// leading classes make a clause a part of the order behind it: its condition, its author or its authority.
const leading = pretext | always | when | anyone | others | reading | ifAI | role

// attackFrom returns where the attack of a sentence begins, behind clauses that are harmless alone. attacks judges the
// rest. Places beyond maxSplits are not read: the attack then begins at the last place found before them.
func attackFrom(said string, from, to int, attacks func(said string) bool) int {
	s, begin := read(said[from:to], from), from
	for i, splits := leastRest, 0; i < len(s.tokens) && splits < maxSplits; i++ {
		t := s.tokens[i]
		isBehindDot := strings.HasSuffix(strings.TrimRight(said[from:t.from], " \t"), ".") // of an abbreviation
		if !t.opens && !isBehindDot && t.has&conj == 0 && !s.isPolishAnd(i) {
			continue
		}
		splits++
		// Only a clause in the first person follows another harmless one.
		if isMore := begin > from; isMore && !s.hasWithin(s.tokenAt(begin), i, self|own) {
			continue
		}
		if s.isHarmless(said[from:t.from], i) && attacks(said[t.from:to]) {
			begin = t.from
		}
	}
	return begin
}

// isPolishAnd reports whether token i is "and" in Polish before an order. In English, "i" is the speaker.
func (s *sentence) isPolishAnd(i int) bool {
	return s.tokens[i].word == "i" && i+1 < len(s.tokens) && s.tokens[i+1].begins&(acts|actsAnywhere) != 0
}

// isHarmless reports whether the clauses before token i are a harmless statement in the first person.
func (s *sentence) isHarmless(before string, i int) bool {
	speaks := s.hasWithin(0, i, self|own) || text.SubjectOf(before).Speaker
	leads := slices.ContainsFunc(s.tokens[:i], func(t token) bool {
		return t.has&leading != 0 && t.has&self == 0 && !t.phrase
	})
	if !speaks || leads || isOrder(before) {
		return false
	}
	m := Shipped()
	return !slices.ContainsFunc(Clauses(before), func(c Clause) bool {
		score, _ := m.Score(c)
		return score >= m.Threshold/2
	})
}

// maxKept is the most words of a request to remember.
const maxKept = 24

// orderly classes occur in orders that look like a request to remember the speaker's own fact.
const orderly = user | ai | rules | prev | above | always | when | anyone | others | role | trusted | best | jail |
	noLimit | secret | hiding | reading | ifAI | reveal | permit | praise | money | code | must

// asksToKeepOwn reports whether a sentence asks to remember a plain fact of the speaker: "Save that I'm vegan." The
// model has seen many orders that begin so. The rules judge it all the same.
func (s *sentence) asksToKeepOwn() bool {
	isDisguise := strings.ContainsAny(s.text, "@{}<>[]=") || !isPlain(s.text) && hidden(s.text)
	if len(s.tokens) > maxKept || s.asks || s.all&orderly != 0 || isDisguise {
		return false
	}
	at := slices.IndexFunc(s.tokens, func(t token) bool { return t.begins&(keep|keepAnywhere) != 0 })
	if at < 0 || slices.ContainsFunc(s.tokens, func(t token) bool {
		return t.begins&((acts|actsAnywhere)&^(keep|keepAnywhere)) != 0
	}) {
		return false
	}
	speaks := s.all&(self|own) != 0 || text.SubjectOf(s.text[s.tokens[at].to-s.from:]).Speaker
	return speaks && !address.MatchString(s.text) && !account.MatchString(s.text) && !blob.MatchString(s.text)
}
