// Package intent reads off a question which time it is about (the temporal intent of a query): what holds now, what held before, or what
// happened. A small linear model, trained on questions written for it, looks at the words and how they follow each other.
//
// What a question says is only ever text: instructions in it steer nothing.
package intent

import (
	"fmt"
	"slices"
	"time"

	"github.com/mneme-memory/mneme/shared/text"
)

// Intent is the time that a question is about.
type Intent int

// The intents.
const (
	// Present questions ask for what holds, and requests rest on it; so is what the words are not read of.
	Present Intent = iota
	// Past questions ask for a state that may no longer hold: "what was my old number".
	Past
	// Event questions ask for something that happened: what is known of it now answers them.
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

// Reading is what a model reads off a question.
type Reading struct {
	// Probabilities are those of the intents.
	Probabilities []float64
	// Past says that what held before is asked for, surely enough that what holds now may be left out.
	Past bool
	// Event says that something that happened is asked for, surely enough, and not what held.
	Event bool
	// At is the last day of the time that has gone by at which it held; zero where the question names none.
	At time.Time
	// Dates are the times that have gone by which the question names, in order.
	Dates []Dated
}

// Likeliest is the intent of the highest probability.
func (r Reading) Likeliest() Intent {
	return Intent(slices.Index(r.Probabilities, slices.Max(r.Probabilities)))
}

// Dated is a time that a question names, Asked whether it is what the question is about: a time may be named by the way.
type Dated struct {
	text.DateMention
	Asked bool
}

// surelyEvent is the probability of Event from which an event is asked for, and a time that is asked about is that of one.
const surelyEvent = 0.7

// Read reads a question that is asked at a time. Where it asks about a time that has gone by, and not surely about an event, it means the
// past; a question in words that the model cannot know means it only then.
func (m *Model) Read(question string, now time.Time) Reading {
	q := Analyse(question, now)
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
