package consolidation

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// maxSignals ends a run well before the server's limit of 10,000 signals a run.
const maxSignals = 5000

// Workflow is the entity workflow of one user. It ends when nothing has waited for
// Tuning.Linger, and stays while a session waits for its idle end; a later event or request begins a new run.
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
		// Answers to requests go out before the run may end.
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
	// requests wait to be worked off, in order.
	requests []*request
	// erased says that this run's history holds what was erased: it ends as soon as it can, so that it can be deleted.
	erased bool
}

// drain takes in the signals that have arrived, without waiting, until enough is pending.
func (r *run) drain(ctx workflow.Context) (some bool) {
	for r.state.bytes() < maxPendingBytes {
		var s Signal
		if !r.signals.ReceiveAsync(&s) {
			return some
		}
		some = true
		r.received++
		if s.Strategy != "" {
			r.params.Strategy, r.params.Policy = s.Strategy, s.Policy
		}
		r.state.add(timed(ctx, s.Events), workflow.Now(ctx))
	}
	return some
}

// waiting reports whether turns of a session wait to be consolidated. A signal that has not been taken in may bring some.
func (r *run) waiting(sessionID string) (bool, error) {
	return r.signals.Len() > 0 || r.state.waiting(sessionID), nil
}

// mustContinue is true when the history has grown enough, and never while signals wait, which would be lost, or while
// the state is too large to be carried: then work goes on in this run until it is not.
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
	_ = r.state.consolidate(activities{withTraceParent(ctx, session.TraceParent)}, r.params, session, closes) // the loop sees that it ended
	return true
}

// modelOptions are of activities that wait for a model. One may be unavailable or slow for long; the heartbeat finds a dead worker
// sooner.
func modelOptions(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: QueueModel, StartToCloseTimeout: 10 * time.Minute, HeartbeatTimeout: 10 * time.Second,
		ScheduleToCloseTimeout: maxDuration, RetryPolicy: retryPolicy(),
	})
}

// storeOptions are of activities that wait for a store.
func storeOptions(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: QueueStore, StartToCloseTimeout: time.Minute, HeartbeatTimeout: 10 * time.Second,
		ScheduleToCloseTimeout: maxDuration, RetryPolicy: retryPolicy(),
	})
}

// foreverOptions are of what must be done some time: an erasure, and a dead letter, which is where what fails goes.
func foreverOptions(ctx workflow.Context) workflow.Context {
	return workflow.WithScheduleToCloseTimeout(storeOptions(ctx), 0)
}

// maxDuration is how long an activity is tried, however long one attempt takes. An outage ends, and turns must not go to the dead letters
// for it; a bug does not end, and must not be tried for ever. No error tells one from the other for certain, a day does.
const maxDuration = 24 * time.Hour

// retryPolicy makes attempts at most 15 seconds apart, and none where no retry helps: where the activity says so, and where it panicked.
func retryPolicy() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second,
		NonRetryableErrorTypes: []string{errorTerminal, errorMalformed, errorTooLarge, errorTooLong, errorBudget, errorPanic},
	}
}
