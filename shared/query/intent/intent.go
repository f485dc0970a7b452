// Package intent classifies the time of a question (the temporal intent of a query): the present state, a past state,
// or an event. It is a small linear model, trained on questions written for it. It uses the words and their order.
//
// The model treats a question only as data. Instructions in it have no effect.
package intent

import (
	_ "embed" // the model is part of the program
	"fmt"
	"slices"
	"time"

	"github.com/mneme-memory/mneme/shared/model/classifier"
	"github.com/mneme-memory/mneme/shared/text"
)

// Intent is the time that a question is about.
type Intent int

// The intents.
const (
	// Present questions ask for the current state. Requests rest on it. It is also the default for words outside
	// the model.
	Present Intent = iota
	// Past questions ask for a state that may no longer be valid: "what was my old number".
	Past
	// Event questions ask for an event. The current memories of the event answer them.
	Event
)

var names = []string{"present", "past", "event"}

// String is the name in labels and reports.
func (i Intent) String() string { return names[i] }

// Parse is the intent of a name.
func Parse(name string) (Intent, error) {
	i := slices.Index(names, name)
	if i < 0 {
		return Present, fmt.Errorf("intent is %q, want one of %v", name, names)
	}
	return Intent(i), nil
}

// Reading is a model's reading of a question.
type Reading struct {
	// Probabilities are the probabilities of the intents.
	Probabilities []float64
	// Past means that the question asks for a past state, with enough certainty to leave out the current state.
	Past bool
	// Event means that the question asks for an event with enough certainty, and not for a state.
	Event bool
	// At is the last day of the past time in the question. It is zero if the question names no such time.
	At time.Time
	// Dates are the times that have gone by which the question names, in order.
	Dates []Dated
}

// Likeliest is the intent of the highest probability.
func (r Reading) Likeliest() Intent {
	return Intent(slices.Index(r.Probabilities, slices.Max(r.Probabilities)))
}

// Dated is a time in a question. Asked reports whether the question is about it, because a question may only
// mention a time.
type Dated struct {
	text.DateMention
	Asked bool
}

// surelyEvent is the threshold on the probability of Event. From it on, the question asks for an event, and its
// time is the event's time.
const surelyEvent = 0.7

// Read reads a question at a time. dates are the times that it names (text.Dates). A question about a past time, and
// not surely about an event, means the past. A question in words outside the model means the past only in that case.
func (m *Model) Read(question string, dates []text.DateMention, now time.Time) Reading {
	q := Analyse(question, dates, now)
	r := Reading{Probabilities: m.Intents.Probabilities(q.Features)}
	r.Past = r.Probabilities[Past] >= m.Threshold && !q.Unread
	surely := 0.5
	if q.Unread {
		surely = 0.1
	}
	r.Event = !r.Past && r.Probabilities[Event] >= surelyEvent && !q.Unread
	state := r.Past || r.Probabilities[Event] < surelyEvent
	for _, d := range q.Dates {
		asked := m.Dates.Probabilities(d.Features)[1] >= surely
		r.Dates = append(r.Dates, Dated{d.DateMention, asked})
		if last := d.Last(); asked && state && last.After(r.At) {
			r.Past, r.Event, r.At = true, false, last
		}
	}
	return r
}

// Model is a trained model. It is safe for concurrent use.
type Model struct {
	classifier.Header
	// Threshold is the probability of Past from which a question is read so.
	Threshold float64 `json:"threshold"`
	// Intents classifies the intents. Dates classifies a date as only mentioned (0) or asked about (1).
	Intents classifier.Linear `json:"intents"`
	Dates   classifier.Linear `json:"dates"`
}

//go:embed model.json
var trained []byte

// Trained returns the model that is compiled into the binary.
var Trained = classifier.Shipped("intents", trained, classifier.Parse[Model])

// Check reports why the model cannot read questions.
func (m *Model) Check() error {
	if m.Version == "" || !(m.Threshold > 0 && m.Threshold <= 1) {
		return fmt.Errorf("version %q, threshold %v", m.Version, m.Threshold)
	}
	if err := m.Intents.Check(len(names)); err != nil {
		return fmt.Errorf("intents: %w", err)
	}
	if err := m.Dates.Check(2); err != nil {
		return fmt.Errorf("dates: %w", err)
	}
	return nil
}
