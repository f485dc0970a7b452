package quarantine

import (
	"bytes"
	_ "embed" // the model is part of the program
	"fmt"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/model/classifier"
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

// learnedIn returns the sentences that the model takes for an attack, without the speaker's statements about themself
// before them.
func learnedIn(said string, all []sentence) []span {
	m := Shipped()
	var out []span
	for _, c := range clauses(all) {
		score, reading := m.Score(c)
		if score < m.Threshold {
			continue
		}
		s := span{c.From, c.To, Order}
		if reading > 0 {
			s.reason = Encoded
		} else {
			s.from = attackFrom(m, said, c)
		}
		out = append(out, s)
	}
	return out
}

// Doubted divides a text into sentences without doubt and sentences that may be an attack. A doubted sentence cannot
// change the speaker's earlier statements: it counts as passed on. In a text with an attack, only first-person
// sentences are without doubt.
func Doubted(said string, besideAttack bool) (plain, doubted string) {
	m := Shipped()
	rest, all := []byte(said), sentences(said)
	for i, c := range clauses(all) {
		score, _ := m.Score(c)
		if score < m.Doubt && !(besideAttack && all[i].all&(self|own) == 0) {
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

// attackFrom returns where the attack of a sentence begins, behind a clause in the first person that is harmless alone.
// A sentence with more places than maxSplits is an attack from its beginning on.
func attackFrom(m *Model, said string, c Clause) int {
	s := read(said[c.From:c.To], c.From)
	for i, splits := leastRest, 0; i < len(s.tokens) && splits < maxSplits; i++ {
		if t := s.tokens[i]; !t.opens && t.has&conj == 0 || !s.hasWithin(0, i, self|own) {
			continue
		}
		splits++
		at := s.tokens[i].from
		before, after := Clauses(said[c.From:at]), Clauses(said[at:c.To])
		harmful := func(c Clause) bool { score, _ := m.Score(c); return score >= m.Threshold/2 }
		attacks := func(c Clause) bool { score, _ := m.Score(c); return score >= m.Threshold }
		if !slices.ContainsFunc(before, harmful) && slices.ContainsFunc(after, attacks) {
			return at
		}
	}
	return c.From
}
