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

// Choice is what is chosen beside the weights, on other pairs.
type Choice struct {
	Thresholds Thresholds `json:"thresholds"`
	// Temperature, above 0, is what log probabilities are divided by to be as good as they say (Guo et al. 2017).
	Temperature float64 `json:"temperature"`
	Meeting     Meeting `json:"meeting"`
}

// head is what a model's file says in words.
type head struct {
	Features int `json:"features"`
	Choice
	Training json.RawMessage `json:"training"`
}

// featureSet is raised whenever the same statements give other features: a model fits only the code that it was trained with.
const featureSet = 1

// New puts a model together; training is a JSON value that says how it came about. Numbers that cannot be are an ErrModel.
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

// Thresholds are those of the model's file.
func (m *Model) Thresholds() Thresholds { return m.head.Thresholds }

// Training is the JSON value that says how the model came about.
func (m *Model) Training() json.RawMessage { return m.head.Training }

// Read reads a statement, to be compared with many.
func (m *Model) Read(s Statement) Reading { return m.lexicon.Read(s) }

// Judge says what a later statement does to a stored one, given that somebody thinks the two are about one matter.
func (m *Model) Judge(later, stored Statement) Relation { return m.Compare(m.Read(later), m.Read(stored)) }

// Compare is Judge for statements that this model has read.
func (m *Model) Compare(later, stored Reading) Relation {
	return m.Logits(later, stored).Relation(m.head.Temperature)
}

// Among says what a later statement does to each of the stored ones that a search found for it, of which most are about other matters: a
// relation holds only as far as the two meet, and statements meet the less, the better another one fits.
func (m *Model) Among(later Reading, stored []Reading) []Relation {
	logits := make([]Logits, len(stored))
	best := math.Inf(-1)
	for i, s := range stored {
		logits[i] = m.Logits(later, s)
		best = max(best, float64(logits[i][Met]))
	}
	out := make([]Relation, len(stored))
	for i, z := range logits {
		r := z.Relation(m.head.Temperature)
		met := m.head.Meeting.probability(float64(z[Met]), best)
		for l := range r {
			r[l] *= met
		}
		r[Unrelated] += 1 - met
		out[i] = r
	}
	return out
}

// Meeting weighs whether two statements found for each other are about one matter: a logistic regression over the logit of Met, and how
// far it is behind the best of those found together.
type Meeting struct {
	Bias   float64 `json:"bias"`
	Own    float64 `json:"own"`
	Behind float64 `json:"behind"`
}

func (m Meeting) probability(own, best float64) float64 {
	return math.Exp(logLogistic(m.Bias + float64(m.Own*own) + float64(m.Behind*(best-own))))
}

// Logits are the weighted sums from which Compare makes probabilities.
func (m *Model) Logits(later, stored Reading) Logits { return m.weights.logits(m.lexicon.Pair(later, stored)) }

// Relation turns logits into probabilities: each label's logistic, sharpened or flattened by a temperature (Guo et al. 2017), in
// proportion.
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
	for l := range r {
		r[l] /= sum
	}
	return r
}

// logLogistic is ln(1/(1+exp(-x))), without overflow.
func logLogistic(x float64) float64 { return min(0, x) - math.Log1p(math.Exp(-math.Abs(x))) }
