package query

import (
	"time"

	"github.com/mneme-memory/mneme/shared/query/intent"
	"github.com/mneme-memory/mneme/shared/text"
)

// Horizon is the time that a query asks about.
type Horizon struct {
	// Past means that the query asks about an earlier state, so superseded memories count, too.
	Past bool
	// Event means that the query asks for an event. Memories of it count even if they are no longer valid.
	Event bool
	// At is the last day asked about; zero where the query names none.
	At time.Time
	// Exact means that the caller gave At explicitly, so later turns are left out. A time in the query itself is
	// less strict, because people may tell of a time later.
	Exact bool
}

// horizonOf reads the horizon of a question that names these dates. An explicit time of the caller takes precedence.
func horizonOf(question Phrase, dates []text.DateMention, in Input) Horizon {
	if !in.AsOf.IsZero() {
		return Horizon{Past: true, At: in.AsOf, Exact: true}
	}
	r := intent.Trained().Read(question.Text, dates, in.Now)
	if r.At.IsZero() {
		return Horizon{Past: r.Past, Event: r.Event}
	}
	return Horizon{Past: true, At: r.At.AddDate(0, 0, 1).Add(-time.Nanosecond)}
}
