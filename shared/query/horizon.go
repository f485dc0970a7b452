package query

import (
	"time"

	"github.com/mneme-memory/mneme/shared/query/intent"
	"github.com/mneme-memory/mneme/shared/text"
)

// Horizon is the time that a query asks about.
type Horizon struct {
	// Intent is the present, a past state or an event. Superseded memories count for a past state. Memories of an
	// event count even if they are no longer valid.
	Intent intent.Intent
	// At is the last day asked about; zero where the query names none.
	At time.Time
	// Exact means that the caller gave At explicitly, so later turns are left out. A time in the query itself is
	// less strict, because people may tell of a time later.
	Exact bool
}

// horizonOf reads the horizon of a question that names these dates. An explicit time of the caller takes precedence.
func horizonOf(question Phrase, dates []text.DateMention, in Input) Horizon {
	if !in.AsOf.IsZero() {
		return Horizon{Intent: intent.Past, At: in.AsOf, Exact: true}
	}
	var h Horizon
	r := intent.Trained().Read(question.Text, dates, in.Now)
	switch {
	case r.Past:
		h.Intent = intent.Past
	case r.Event:
		h.Intent = intent.Event
	}
	if !r.At.IsZero() {
		h.At = r.At.AddDate(0, 0, 1).Add(-time.Nanosecond)
	}
	return h
}
