package weights

import (
	"fmt"
	"time"
)

// Limits limit the stored data. All replicas must have the same.
type Limits struct {
	// Versions is the maximum number of versions per tenant.
	Versions int
	// Traces is the maximum number of traces per user.
	Traces int
	// TraceTTL is how long a trace is kept.
	TraceTTL time.Duration
}

// eventSlack is the maximum difference between the clock of reports and the clock of traces.
const eventSlack = time.Hour

// EventTTL is how long an event is remembered as learned, by the event's time. After that its trace has gone, despite
// differences between clocks.
func (l Limits) EventTTL() time.Duration { return l.TraceTTL + eventSlack }

// Validate checks that the limits are positive, and that times are at least a millisecond, the precision of stores.
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
