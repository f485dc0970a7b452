package consolidation

import (
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// maxSignals ends a run well before the server's limit of 10,000 signals per run.
const maxSignals = 5000

// Workflow is the entity workflow of one user. It ends when nothing has waited for Tuning.Linger. It stays while a
// session waits for its idle end. A later event or request begins a new run.
func Workflow(ctx workflow.Context, p Params) error {
	r := &run{params: p, state: p.State, signals: workflow.GetSignalChannel(ctx, SignalEvents)}
	if err := workflow.SetQueryHandler(ctx, QueryState, func() (State, error) { return r.state, nil }); err != nil {
		return err
	}
	if err := workflow.SetQueryHandler(ctx, QueryWaiting, r.waiting); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandler(ctx, UpdateRetract, r.retract); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandler(ctx, UpdateEdit, r.edit); err != nil {
		return err
	}
	for ctx.Err() == nil {
		r.drain(ctx)
		r.state.expire(r.params.Tuning, workflow.Now(ctx))
		r.state.closeIdle(workflow.Now(ctx))
		// The run sends its answers to requests before it ends.
		answered := func() bool { return len(r.requests) > 0 || workflow.AllHandlersFinished(ctx) }
		if err := workflow.Await(ctx, answered); err != nil {
			return err
		}
		switch {
		case len(r.state.Erasures) > 0:
			if err := r.erase(ctx); err != nil {
				return err
			}
		case len(r.requests) > 0:
			r.serve(ctx)
		case r.erased && r.state.empty() && r.signals.Len() == 0:
			return nil
		case r.mustContinue(ctx):
			next := r.params
			next.State = r.state
			return workflow.NewContinueAsNewError(ctx, WorkflowName, next)
		case r.consolidateNext(ctx):
		default:
			if !r.sleep(ctx) && r.state.empty() && !r.drain(ctx) && workflow.AllHandlersFinished(ctx) {
				return ctx.Err()
			}
		}
	}
	return ctx.Err()
}

type run struct {
	params   Params
	state    State
	signals  workflow.ReceiveChannel
	received int
	// requests is the waiting requests, in order.
	requests []*request
	// erased means that this run's history holds erased data. The run ends as soon as possible, so that the history
	// can be deleted.
	erased bool
}

// drain accepts the arrived signals without waiting, until enough events are pending.
func (r *run) drain(ctx workflow.Context) (some bool) {
	for r.state.bytes() < maxPendingBytes {
		var s Signal
		if !r.signals.ReceiveAsync(&s) {
			return some
		}
		some = true
		r.received++
		if s.Strategy != "" {
			r.params.Strategy, r.params.Policy, r.params.TalkDays = s.Strategy, s.Policy, s.TalkDays
		}
		r.state.add(timed(ctx, s.Events), workflow.Now(ctx))
	}
	return some
}

// waiting reports whether turns of a session wait for consolidation. An unread signal may bring such turns.
func (r *run) waiting(sessionID string) (bool, error) {
	return r.signals.Len() > 0 || r.state.waiting(sessionID), nil
}

// mustContinue is true when the history has grown enough. It is false while signals wait, because they would be lost.
// It is also false while the state is too large to carry. Work then continues in this run.
func (r *run) mustContinue(ctx workflow.Context) bool {
	if !r.erased && !workflow.GetInfo(ctx).GetContinueAsNewSuggested() && r.received < maxSignals {
		return false
	}
	return r.signals.Len() == 0 && fits("the state", r.state) == nil
}

// sleep waits for a signal or a request, or until something may be ready.
func (r *run) sleep(ctx workflow.Context) (woken bool) {
	woken, _ = workflow.AwaitWithTimeout(ctx, r.state.wait(r.params.Tuning, workflow.Now(ctx)), func() bool {
		return r.signals.Len() > 0 || len(r.requests) > 0
	})
	return woken
}

// consolidateNext works on the next ready session and reports whether there was one.
func (r *run) consolidateNext(ctx workflow.Context) bool {
	session, closes := r.state.ready(r.params.Tuning, workflow.Now(ctx))
	if session == nil {
		return false
	}
	ctx = withTraceParent(ctx, session.TraceParent)
	_ = r.state.consolidate(activities{ctx}, r.params, session, closes) // the loop sees the end
	r.expireTalk(ctx)
	return true
}

// modelOptions apply to activities that wait for a model. A model may be unavailable or slow for long. The heartbeat
// detects a dead worker sooner.
func modelOptions(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: QueueModel, StartToCloseTimeout: 10 * time.Minute, HeartbeatTimeout: 10 * time.Second,
		ScheduleToCloseTimeout: maxDuration, RetryPolicy: retryPolicy(),
	})
}

// storeOptions apply to activities that wait for a store.
func storeOptions(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: QueueStore, StartToCloseTimeout: time.Minute, HeartbeatTimeout: 10 * time.Second,
		ScheduleToCloseTimeout: maxDuration, RetryPolicy: retryPolicy(),
	})
}

// foreverOptions apply to activities that must succeed at some time: erasures and dead letters. The dead letters are
// the last place for failed turns.
func foreverOptions(ctx workflow.Context) workflow.Context {
	return workflow.WithScheduleToCloseTimeout(storeOptions(ctx), 0)
}

// maxDuration is how long an activity is retried, whatever the time of one attempt. An outage ends, so its turns must
// not go to the dead letters. A bug does not end, so its retries must stop. No error distinguishes the two with
// certainty; the limit of a day does.
const maxDuration = 24 * time.Hour

// retryPolicy makes attempts at most 15 seconds apart. It allows no retry for non-retryable errors and panics.
func retryPolicy() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second,
		NonRetryableErrorTypes: []string{errorTerminal, errorMalformed, errorTooLarge, errorTooLong, errorBudget, errorPanic},
	}
}

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
