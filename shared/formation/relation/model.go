package relation

import (
	_ "embed"
	"encoding/json"
	"errors"
	"math"
	"sync"

	"github.com/mneme-memory/mneme/shared/model/wordvector"
)

// ErrModel says that bytes are no model of relations that this code can use.
var ErrModel = errors.New("not a model of relations")

// Thresholds are probabilities of a change, chosen on statements that nothing was trained on.
type Thresholds struct {
	// Certain is the least probability of any change (see Changed) that closes the likeliest statement. Possible is
	// the least probability of one statement's change that keeps both together.
	Certain  float64 `json:"certain"`
	Possible float64 `json:"possible"`
}

// LeastOwn is the least probability of a statement's own change that closes it as the likeliest one. Below it, the
// change may belong to another statement.
const LeastOwn = 0.35

// Changed returns the stored statement that is most likely changed, or -1 without such a statement. It also returns
// the probability of that statement's change, and of any change. Stored statements about one subject share the
// probability that one alone would have.
func Changed(relations []Relation) (index int, own, whole float64) {
	index = -1
	for i, r := range relations {
		c := r.Change()
		whole += c
		if c > own {
			index, own = i, c
		}
	}
	return index, own, whole
}

// Model judges pairs of statements. It is safe for concurrent use.
type Model struct {
	lexicon *Lexicon
	weights *Weights
	head    head
}

// Choice has the values that are chosen in addition to the weights, on other pairs.
type Choice struct {
	Thresholds Thresholds `json:"thresholds"`
	// Temperature, above 0, is what logits are divided by to be as good as they say (Guo et al. 2017).
	Temperature float64 `json:"temperature"`
}

// head is the JSON part of a model's file.
type head struct {
	Features int `json:"features"`
	Choice
	Training json.RawMessage `json:"training"`
}

// featureSet increases whenever the same statements give other features: a model fits only the code of its training.
const featureSet = 3

// New puts a model together; training is a JSON value that says how it came about. Numbers that cannot be are an
// ErrModel.
func New(l *Lexicon, w *Weights, c Choice, training any) (*Model, error) {
	record, err := json.Marshal(training)
	if err != nil {
		return nil, errors.Join(ErrModel, err)
	}
	m := &Model{lexicon: l, weights: w, head: head{Features: featureSet, Choice: c, Training: record}}
	if err := m.check(); err != nil {
		return nil, errors.Join(ErrModel, err)
	}
	for b := range w.Sparse {
		w.Sparse[b].index()
	}
	return m, nil
}

//go:embed model.bin
var shipped []byte

// Shipped returns the model of this package, made once.
var Shipped = sync.OnceValue(func() *Model {
	m, err := Parse(shipped, wordvector.Shipped())
	if err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	return m
})

// Thresholds returns the thresholds of the model's file.
func (m *Model) Thresholds() Thresholds { return m.head.Thresholds }

// Training is the JSON value that says how the model came about.
func (m *Model) Training() json.RawMessage { return m.head.Training }

// Read reads a statement, to be compared with many.
func (m *Model) Read(s Statement) Reading { return m.lexicon.Read(s) }

// Judge returns the effect of a later statement on each of the stored results of a search. It is one distribution over
// all of them and over no statement, since a statement is rarely related to two.
func (m *Model) Judge(later Statement, stored []Statement) []Relation {
	read := make([]Reading, len(stored))
	for i, s := range stored {
		read[i] = m.Read(s)
	}
	return m.Compare(m.Read(later), read)
}

// Session judges like its model, and reads each stored statement once. It is for work that compares the same
// statements again and again. It is not safe for concurrent use.
type Session struct {
	model *Model
	read  map[Statement]Reading
}

// Session returns one that has read nothing.
func (m *Model) Session() *Session { return &Session{model: m, read: map[Statement]Reading{}} }

// Judge is the model's.
func (s *Session) Judge(later Statement, stored []Statement) []Relation {
	return Softmax(s.Logits(later, stored), s.model.head.Temperature)
}

// Logits are the model's, of statements.
func (s *Session) Logits(later Statement, stored []Statement) []Logits {
	readings := make([]Reading, len(stored))
	for i, st := range stored {
		r, ok := s.read[st]
		if !ok {
			r = s.model.Read(st)
			s.read[st] = r
		}
		readings[i] = r
	}
	return s.model.Logits(s.model.Read(later), readings)
}

// Compare is Judge for statements that this model has read.
func (m *Model) Compare(later Reading, stored []Reading) []Relation {
	return Softmax(m.Logits(later, stored), m.head.Temperature)
}

// Logits are the weighted sums from which Compare makes probabilities, by stored statement.
func (m *Model) Logits(later Reading, stored []Reading) []Logits {
	alone := m.weights.later(later.Later())
	out := make([]Logits, len(stored))
	for i, s := range stored {
		out[i] = m.weights.pair(alone, m.lexicon.Pair(later, s))
	}
	return out
}

// Softmax turns logits, divided by a temperature, into probabilities. They cover every label of every stored
// statement, and no statement with logit 0. The probability of other statements and labels is Unrelated for each.
func Softmax(logits []Logits, temperature float64) []Relation {
	most := 0.0
	for _, z := range logits {
		for _, x := range z {
			most = max(most, float64(x)/temperature)
		}
	}
	sum := math.Exp(-most)
	out := make([]Relation, len(logits))
	for i, z := range logits {
		for l, x := range z {
			out[i][l+1] = math.Exp(float64(x)/temperature - most)
			sum += out[i][l+1]
		}
	}
	for i := range out {
		out[i][Unrelated] = 1
		for l := Same; l < Labels; l++ {
			out[i][l] /= sum
			out[i][Unrelated] -= out[i][l]
		}
		out[i][Unrelated] = max(0, out[i][Unrelated])
	}
	return out
}
