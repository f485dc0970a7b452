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

// Thresholds are probabilities of a change, chosen on pairs that nothing was trained on.
type Thresholds struct {
	// Certain is from where a change is acted upon; Possible from where the two are best kept side by side.
	Certain  float64 `json:"certain"`
	Possible float64 `json:"possible"`
}

// Model judges pairs of statements. It is safe for concurrent use.
type Model struct {
	lexicon *Lexicon
	weights *Weights
	head    head
}

// head is what a model's file says in words.
type head struct {
	Features    int             `json:"features"`
	Thresholds  Thresholds      `json:"thresholds"`
	Temperature float64         `json:"temperature"`
	Training    json.RawMessage `json:"training"`
}

// featureSet is raised whenever the same statements give other features: a model fits only the code that it was trained with.
const featureSet = 1

// New puts a model together. Temperature (above 0) is what log probabilities are divided by to be as good as they say (Guo et al. 2017);
// training is a JSON value that says how the model came about. Numbers that cannot be are an ErrModel.
func New(l *Lexicon, w *Weights, temperature float64, t Thresholds, training any) (*Model, error) {
	record, err := json.Marshal(training)
	if err != nil {
		return nil, errors.Join(ErrModel, err)
	}
	m := &Model{lexicon: l, weights: w, head: head{Features: featureSet, Thresholds: t, Temperature: temperature, Training: record}}
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

// Thresholds are those of the model's file.
func (m *Model) Thresholds() Thresholds { return m.head.Thresholds }

// Training is the JSON value that says how the model came about.
func (m *Model) Training() json.RawMessage { return m.head.Training }

// Read reads a statement, to be compared with many.
func (m *Model) Read(s Statement) Reading { return m.lexicon.Read(s) }

// Judge says what a later statement does to a stored one.
func (m *Model) Judge(later, stored Statement) Relation {
	return m.Compare(m.Read(later), m.Read(stored))
}

// Compare is Judge for statements that this model has read.
func (m *Model) Compare(later, stored Reading) Relation {
	return m.Logits(later, stored).Relation(m.head.Temperature)
}

// Logits are the weighted sums from which Compare makes probabilities.
func (m *Model) Logits(later, stored Reading) Logits {
	return m.weights.logits(m.lexicon.Pair(later, stored))
}

// Relation turns logits into probabilities: each label's logistic, sharpened or flattened by a temperature (Guo et al. 2017), in
// proportion; all but Unrelated only as far as the two have met.
func (z Logits) Relation(temperature float64) Relation {
	var r Relation
	sum := 0.0
	for l := range r {
		r[l] = math.Exp(logLogistic(float64(z[l])) / temperature)
		sum += r[l]
	}
	if sum == 0 {
		return Relation{Unrelated: 1} // logits so low that all vanish
	}
	met := math.Exp(logLogistic(float64(z[Met])))
	for l := range r {
		r[l] *= met / sum
	}
	r[Unrelated] += 1 - met
	return r
}

// logLogistic is ln(1/(1+exp(-x))), without overflow.
func logLogistic(x float64) float64 { return min(0, x) - math.Log1p(math.Exp(-math.Abs(x))) }
