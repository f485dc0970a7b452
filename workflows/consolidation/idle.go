package consolidation

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"
)

// maxIdle limits the number of sessions of a user that wait for their idle end. Each takes room in the state for up
// to a day.
const maxIdle = 256

// recordEvent records an event of a session, which postpones its idle end.
func (o *Session) recordEvent(e Event, now time.Time) {
	if e.IdleAfter > 0 {
		o.IdleAfter = e.IdleAfter
	}
	if o.IdleAfter > 0 {
		o.HeardAt = now
	}
}

// idleEnd is when the session closes if no event of it comes.
func (o *Session) idleEnd() time.Time { return o.HeardAt.Add(o.IdleAfter) }

// deadline is when an open session is formed, forgotten or closed if no event comes.
func (o *Session) deadline(t Tuning) time.Time {
	formed := o.Arrived.Add(t.Idle)
	switch {
	case o.IdleAfter == 0:
		return formed
	case len(o.Turns) == 0 || o.idleEnd().Before(formed):
		return o.idleEnd()
	default:
		return formed
	}
}

// closeIdle closes the sessions after their idle time, as session_closed does. If more than maxIdle sessions
// wait, it closes the sessions with the earliest idle end early. A later turn of such a session is still formed.
func (s *State) closeIdle(now time.Time) {
	waiting := slices.DeleteFunc(slices.Clone(s.Open), func(o Session) bool { return o.IdleAfter == 0 })
	slices.SortStableFunc(waiting, func(a, b Session) int { return a.idleEnd().Compare(b.idleEnd()) })
	for i, o := range waiting {
		if len(waiting)-i <= maxIdle && o.idleEnd().After(now) {
			return
		}
		s.end(o, now)
	}
}

// timed prepares events for this run. A run that accepted its first idle time with an older worker continues to
// ignore idle times.
func timed(ctx workflow.Context, events []Event) []Event {
	if !slices.ContainsFunc(events, func(e Event) bool { return e.IdleAfter > 0 }) ||
		workflow.GetVersion(ctx, "idle-after", workflow.DefaultVersion, 1) > workflow.DefaultVersion {
		return events
	}
	out := slices.Clone(events)
	for i := range out {
		out[i].IdleAfter = 0
	}
	return out
}
