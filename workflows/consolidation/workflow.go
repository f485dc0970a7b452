package consolidation

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Named changes of the workflow's code, for workflow.GetVersion. A running workflow keeps the
// version it recorded; raise the number, branch on it, and record a history of each.
const (
	changePipeline  = "pipeline"
	pipelineVersion = 1
)

// maxSignals ends a run well before the server's limit of 10,000 signals a run.
const maxSignals = 5000

// Workflow is the entity workflow of one user. It ends when nothing has waited for
// Tuning.Linger; a later signal-with-start begins a new run.
func Workflow(ctx workflow.Context, p Params) error {
	r := &run{params: p, state: p.State, signals: workflow.GetSignalChannel(ctx, SignalEvents)}
	if err := workflow.SetQueryHandler(ctx, QueryState, func() (State, error) { return r.state, nil }); err != nil {
		return err
	}
	workflow.GetVersion(ctx, changePipeline, workflow.DefaultVersion, pipelineVersion)
	for {
		r.drain(ctx)
		switch {
		case len(r.state.Erasures) > 0:
			if err := r.erase(ctx); err != nil {
				return err
			}
		case r.erased && r.state.empty() && r.signals.Len() == 0:
			return nil
		case r.mustContinue(ctx):
			next := r.params
			next.State = r.state
			return workflow.NewContinueAsNewError(ctx, WorkflowName, next)
		case len(r.state.Retractions) > 0:
			if err := r.retract(ctx); err != nil {
				return err
			}
		case r.consolidateNext(ctx):
		default:
			if woken := r.sleep(ctx); !woken && r.state.empty() && !r.drain(ctx) {
				return ctx.Err()
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

type run struct {
	params   Params
	state    State
	signals  workflow.ReceiveChannel
	received int
	// erased says that this run's history holds what was erased: it ends as soon as it can, so that it can be deleted.
	erased bool
}

// drain takes in the signals that have arrived, without waiting, until enough is pending.
func (r *run) drain(ctx workflow.Context) (any bool) {
	for r.state.bytes() < maxPendingBytes {
		var s Signal
		if !r.signals.ReceiveAsync(&s) {
			return any
		}
		r.take(ctx, s)
		any = true
	}
	return any
}

func (r *run) take(ctx workflow.Context, s Signal) {
	r.received++
	if s.Strategy != "" {
		r.params.Strategy, r.params.Policy = s.Strategy, s.Policy
	}
	r.state.add(s.Events, workflow.Now(ctx))
}

// mustContinue is true when the history has grown enough, and never while signals wait, which would be lost, or while
// the state is too large to be carried: then work goes on in this run until it is not.
func (r *run) mustContinue(ctx workflow.Context) bool {
	if !r.erased && !workflow.GetInfo(ctx).GetContinueAsNewSuggested() && r.received < maxSignals {
		return false
	}
	return r.signals.Len() == 0 && r.state.bytes() <= maxCarriedBytes
}

// sleep waits for a signal, or until something may be ready.
func (r *run) sleep(ctx workflow.Context) (woken bool) {
	timer, cancel := workflow.WithCancel(ctx)
	defer cancel()
	workflow.NewSelector(ctx).
		AddReceive(r.signals, func(c workflow.ReceiveChannel, _ bool) {
			var s Signal
			c.Receive(ctx, &s)
			r.take(ctx, s)
			woken = true
		}).
		AddFuture(workflow.NewTimer(timer, r.state.wait(r.params.Tuning, workflow.Now(ctx))), func(workflow.Future) {}).
		AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) {}).
		Select(ctx)
	return woken
}

// consolidateNext works on the next ready session and reports whether there was one.
func (r *run) consolidateNext(ctx workflow.Context) bool {
	session, closes := r.state.ready(r.params.Tuning, workflow.Now(ctx))
	if session == nil {
		return false
	}
	_ = r.state.consolidate(activities{withTraceParent(ctx, session.TraceParent)}, r.params, session, closes) // cancelled: the loop sees it
	return true
}

// retract works off the requests to retract an entry.
func (r *run) retract(ctx workflow.Context) error {
	for _, e := range r.state.Retractions {
		var a *Activities
		ctx := withTraceParent(ctx, e.TraceParent)
		in := RetractInput{Scope: r.params.Scope, Strategy: r.params.Strategy, EventID: e.ID, MemoryID: e.Retract, Now: workflow.Now(ctx)}
		if err := workflow.ExecuteActivity(storeOptions(ctx), a.Retract, in).Get(ctx, nil); err != nil {
			if ctx.Err() != nil {
				return err
			}
			r.state.LastFailure = reason(err)
		}
	}
	r.state.Retractions = nil
	return nil
}

// modelOptions: a model may be away or slow for long; the heartbeat finds a dead worker sooner.
func modelOptions(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: QueueModel, StartToCloseTimeout: 10 * time.Minute, HeartbeatTimeout: 10 * time.Second,
		RetryPolicy: retryPolicy(),
	})
}

func storeOptions(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: QueueStore, StartToCloseTimeout: time.Minute, HeartbeatTimeout: 10 * time.Second,
		RetryPolicy: retryPolicy(),
	})
}

// retryPolicy retries for ever: an outage ends, and turns must not be lost to it. Errors that no
// retry mends are marked as such by the activities.
func retryPolicy() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second,
		NonRetryableErrorTypes: []string{errorTerminal, errorMalformed, errorTooLarge},
	}
}
