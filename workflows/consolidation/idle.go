package consolidation

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"
)

// maxIdle bounds how many sessions of a user wait to be closed when they are idle: each takes room in the state for
// up to a day.
const maxIdle = 256

// hear notes an event of a session, which puts its idle end off.
func (o *Session) hear(e Event, now time.Time) {
	if e.IdleAfter > 0 {
		o.IdleAfter = e.IdleAfter
	}
	if o.IdleAfter > 0 {
		o.HeardAt = now
	}
}

// idleEnd is when the session is closed unless an event of it comes before.
func (o *Session) idleEnd() time.Time { return o.HeardAt.Add(o.IdleAfter) }

// due is when an open session is formed, forgotten or closed without a further event.
func (o *Session) due(t Tuning) time.Time {
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

// closeIdle closes the sessions whose idle time has passed, as session_closed does. Where more than maxIdle
// sessions wait for that, those that are due first are closed early: a turn that comes later is formed all the
// same.
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

// timed returns events as this run may take them: a run that took its first idle time in before there was one keeps
// ignoring them.
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
