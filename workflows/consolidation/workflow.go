package consolidation

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Named changes of the workflow's code, for workflow.GetVersion. A running workflow keeps the
// version it recorded; raise the number, branch on it, and record a history of each.
const (
	changePipeline  = "pipeline"
	pipelineVersion = 1
)

// MaxRounds bounds how often a former may look into the bank before it decides. Formers have tighter bounds of their own; this one
// keeps a broken one from running for ever.
const MaxRounds = 32

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
	n, _ := session.batch(r.params.Tuning.turns(closes))
	batch := Batch{
		Scope: r.params.Scope, Strategy: r.params.Strategy, Policy: r.params.Policy, SessionID: session.ID,
		Turns: byTime(session.Turns[:n]), EventIDs: slices.Clone(session.EventIDs[:n]),
		Closes: closes && n == len(session.Turns), ClosedAt: session.ClosedAt,
	}
	err := consolidate(withTraceParent(ctx, session.TraceParent), batch)
	switch {
	case err == nil:
		r.state.LastFailure = ""
	case ctx.Err() != nil:
		return true
	case isType(err, errorTooLarge) && n > 1:
		session.Limit = n / 2
		return true
	default:
		r.state.LastFailure = reason(err)
		session.Failures++
		if isType(err, errorMalformed) && session.Failures < r.params.Tuning.MalformedAttempts {
			r.pause(ctx, session.Failures)
			return true
		}
		r.giveUp(ctx, session, batch, err)
	}
	r.state.done(session, n)
	return true
}

// pause waits before the next try of a session, longer each time. Signals that come meanwhile stay
// in their channel, so the session keeps its place in the state.
func (r *run) pause(ctx workflow.Context, failures int) {
	_ = workflow.Sleep(ctx, min(time.Duration(1<<failures)*time.Second, time.Minute)) // cancelled: the loop sees it
}

// giveUp sends a batch to the dead letters, where a replay finds it.
func (r *run) giveUp(ctx workflow.Context, session *Session, b Batch, cause error) {
	ctx = withTraceParent(ctx, session.TraceParent)
	in := DeadLetterInput{Batch: b, Reason: reason(cause), Now: workflow.Now(ctx)}
	var a *Activities
	_ = workflow.ExecuteActivity(storeOptions(ctx), a.DeadLetter, in).Get(ctx, nil) // retried for ever; only cancellation ends it
	r.state.forget(append(b.EventIDs, b.CloseID()))
}

// consolidate runs the four steps on a batch.
func consolidate(ctx workflow.Context, b Batch) error {
	var (
		a         *Activities
		extracted Extracted
		near      Neighbourhood
		decided   Decided
	)
	model, store := modelOptions(ctx), storeOptions(ctx)
	if len(b.Turns) > 0 {
		if err := workflow.ExecuteActivity(model, a.Extract, b).Get(ctx, &extracted); err != nil {
			return err
		}
		if err := workflow.ExecuteActivity(store, a.Relate, RelateInput{b, extracted.Candidates}).Get(ctx, &near); err != nil {
			return err
		}
		var err error
		if decided, err = decide(ctx, b, near); err != nil {
			return err
		}
	}
	return workflow.ExecuteActivity(store, a.Apply, ApplyInput{b, decided, workflow.Now(ctx), near.Known}).Get(ctx, nil)
}

// decide asks for a decision, making the lookups that the former wants first.
func decide(ctx workflow.Context, b Batch, near Neighbourhood) (Decided, error) {
	var a *Activities
	in := DecideInput{Batch: b, Neighbourhood: near, Now: workflow.Now(ctx)}
	for range MaxRounds {
		var decided Decided
		if err := workflow.ExecuteActivity(modelOptions(ctx), a.Decide, in).Get(ctx, &decided); err != nil {
			return Decided{}, err
		}
		if len(decided.Lookups) == 0 {
			return decided, nil
		}
		var looked SearchResult
		if err := workflow.ExecuteActivity(storeOptions(ctx), a.Search, SearchInput{b.Scope, decided.Lookups}).Get(ctx, &looked); err != nil {
			return Decided{}, err
		}
		in.Found, in.Memo = in.Neighbourhood.Extend(looked), decided.Memo
	}
	return Decided{}, temporal.NewNonRetryableApplicationError(fmt.Sprintf("no decision after %d looks into the bank", MaxRounds), errorTerminal, nil)
}

// Extend adds what a look found to the pool, as long as it is no more than two full looks together, and returns the look's lists by
// their places there.
func (n *Neighbourhood) Extend(looked SearchResult) [][]Neighbour {
	at, bytes := make(map[string]int, len(n.Pool)), 0
	for i, m := range n.Pool {
		at[m.ID] = i
		bytes += entryBytes + len(m.Content) + len(m.Value)
	}
	out := make([][]Neighbour, len(looked.Near))
	for i, near := range looked.Near {
		for _, hit := range near {
			m := looked.Pool[hit.Pool]
			place, ok := at[m.ID]
			if !ok && bytes+len(m.Content)+len(m.Value) > 2*maxPoolBytes {
				continue
			}
			if !ok {
				place = len(n.Pool)
				at[m.ID] = place
				bytes += entryBytes + len(m.Content) + len(m.Value)
				n.Pool = append(n.Pool, m)
			}
			out[i] = append(out[i], Neighbour{Pool: place, Similarity: hit.Similarity})
		}
	}
	return out
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

func byTime(turns []memory.Turn) []memory.Turn {
	out := slices.Clone(turns)
	slices.SortStableFunc(out, func(a, b memory.Turn) int { return a.Time.Compare(b.Time) })
	return out
}

func isType(err error, name string) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.Type() == name
}

// reason is the innermost message of an activity's failure.
func reason(err error) string {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Message()
	}
	return err.Error()
}
