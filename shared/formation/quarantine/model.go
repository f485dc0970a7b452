package quarantine

import (
	"bytes"
	_ "embed" // the model is part of the program
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

// ErrModel says that a file is no model of attacks.
var ErrModel = errors.New("not a model of attacks")

// Model tells sentences that attack the memory from others: a logistic regression over hashed terms.
type Model struct {
	// Version is name and version of the model.
	Version string `json:"version"`
	// Training has the sources and options of the model's training; scoring does not need it.
	Training json.RawMessage `json:"training,omitempty"`
	// Bias is the log odds of a sentence without known terms. Threshold is the least score of an attack. A sentence of
	// at least Doubt may be an attack.
	Bias      float32 `json:"bias"`
	Threshold float32 `json:"threshold"`
	Doubt     float32 `json:"doubt"`
	// Step is what one unit of a weight stands for.
	Step float32 `json:"step"`
	// Weights are of the bins, Bins of them.
	Weights []int8 `json:"-"`
}

// ParseModel reads a model: a line of JSON, then a byte a weight. Other data is an ErrModel.
func ParseModel(data []byte) (*Model, error) {
	head, weights, _ := bytes.Cut(data, []byte("\n"))
	var m Model
	if err := json.Unmarshal(head, &m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModel, err)
	}
	if m.Version == "" || len(weights) != Bins || !(m.Step > 0) || !(m.Doubt <= m.Threshold) {
		return nil, fmt.Errorf("%w: version %q, %d weights, step %v, doubt %v", ErrModel, m.Version, len(weights), m.Step, m.Doubt)
	}
	m.Weights = make([]int8, Bins)
	for i, w := range weights {
		m.Weights[i] = int8(w)
	}
	return &m, nil
}

// Encode writes a model as ParseModel reads it.
func (m *Model) Encode() ([]byte, error) {
	out, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode the model of attacks: %w", err)
	}
	out = append(out, '\n')
	for _, w := range m.Weights {
		out = append(out, byte(w))
	}
	return out, nil
}

// SetWeights rounds weights to bytes.
func (m *Model) SetWeights(weights []float32) {
	var most float32
	for _, w := range weights {
		most = max(most, w, -w)
	}
	m.Step, m.Weights = max(most, 1e-6)/math.MaxInt8, make([]int8, len(weights))
	for i, w := range weights {
		m.Weights[i] = int8(math.Round(float64(w / m.Step)))
	}
}

// Score returns the log odds that a sentence attacks: the score of its worst reading, and the place of that reading.
func (m *Model) Score(c Clause) (score float32, reading int) {
	for i, r := range c.Readings {
		sum := float32(0)
		for _, f := range r {
			sum += float32(m.Weights[f.Bin]) * f.Value
		}
		if s := sum*m.Step + m.Bias; i == 0 || s > score {
			score, reading = s, i
		}
	}
	return score, reading
}

//go:embed model.bin
var modelFile []byte

// Shipped returns the model that the program carries.
var Shipped = sync.OnceValue(func() *Model {
	m, err := ParseModel(modelFile)
	if err != nil {
		panic(fmt.Sprintf("load the compiled-in model of attacks: %v", err))
	}
	return m
})

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
