package weights

import (
	"fmt"
	"time"
)

// Limits bound what is kept. All replicas must have the same.
type Limits struct {
	// Versions are kept of a tenant at most.
	Versions int
	// Traces are kept of a user at most.
	Traces int
	// TraceTTL is how long a trace is kept.
	TraceTTL time.Duration
}

// eventSlack is by how much the clock that stamps reports may differ from the one that stamps traces.
const eventSlack = time.Hour

// EventTTL is how long it is known that an event was learned from, by the event's time. Afterwards its trace is gone, whoever's clock
// is right.
func (l Limits) EventTTL() time.Duration { return l.TraceTTL + eventSlack }

// Validate checks that the limits bound something, and times of at least a millisecond, which is how exactly back-ends measure.
func (l Limits) Validate() error {
	switch {
	case l.Versions < 1:
		return fmt.Errorf("weights limits: versions is %d, want at least 1", l.Versions)
	case l.Traces < 1:
		return fmt.Errorf("weights limits: traces is %d, want at least 1", l.Traces)
	case l.TraceTTL < time.Millisecond:
		return fmt.Errorf("weights limits: trace TTL is %s, want at least 1ms", l.TraceTTL)
	}
	return nil
}
