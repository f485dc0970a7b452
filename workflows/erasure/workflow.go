package erasure

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme-memory/mneme/workflows/consolidation"
)

const (
	// cleanCounts in a row end the workflow.
	cleanCounts = 2
	// listLag is how long the server's list of runs may lack a run that has begun. A count that comes sooner after the
	// beginning of the last run to be deleted is not the last count.
	listLag = 3 * time.Second
	// minSettle is the shortest pause before the count that has to find nothing again.
	minSettle = time.Second
	// pauseStep and maxPause shape the pauses while something is left.
	pauseStep, maxPause = 500 * time.Millisecond, 10 * time.Second
)

// Workflow erases and counts until the stores are empty. If the request is delivered again, the user's bank is
// erased again for it. A further signal then starts a new erasure of the stores.
func Workflow(ctx workflow.Context, p Params) (Report, error) {
	signals := workflow.GetSignalChannel(ctx, SignalErased)
	if p.Erased == nil {
		p.Erased = new(consolidation.Erased)
		signals.Receive(ctx, p.Erased)
		p.StartedAt = workflow.GetInfo(ctx).WorkflowStartTime
	}
	e := &erasing{Params: p, shown: workflow.GetVersion(ctx, "show-progress", workflow.DefaultVersion,
		1) > workflow.DefaultVersion}
	for clean := 0; clean < cleanCounts; {
		if err := e.round(ctx); err != nil {
			return Report{}, err
		}
		wait := e.pauseBeforeRecount(workflow.Now(ctx))
		if clean++; len(e.Remaining) > 0 {
			clean, wait = 0, min(time.Duration(e.Rounds)*pauseStep, maxPause)
		}
		if clean < cleanCounts {
			if err := workflow.Sleep(ctx, wait); err != nil {
				return Report{}, err
			}
		}
		for signals.ReceiveAsync(e.Erased) {
			clean, e.empty = 0, nil
		}
		if clean < cleanCounts && workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return Report{}, workflow.NewContinueAsNewError(ctx, WorkflowName, e.Params)
		}
	}
	return Report{Rounds: e.Rounds, DoneAt: workflow.Now(ctx)}, e.show(ctx, nil)
}

// erasing is the state of a run.
type erasing struct {
	Params
	// empty are the stores in which the last count found nothing.
	empty []string
	// shown says that the run keeps its progress in its memo: runs of earlier versions do not.
	shown bool
}

// pauseBeforeRecount is the pause between a count that found nothing and the next one.
func (e *erasing) pauseBeforeRecount(now time.Time) time.Duration {
	return min(max(e.Erased.StartedAt.Add(listLag).Sub(now), minSettle), listLag)
}

// round erases once every store that is not known to be empty. It then counts all stores, and shows the rest.
func (e *erasing) round(ctx workflow.Context) error {
	options := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Minute, HeartbeatTimeout: 10 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 500 * time.Millisecond, BackoffCoefficient: 2,
			MaximumInterval: 15 * time.Second},
	})
	r := Request{Scope: e.Scope, RequestID: e.RequestID, RunID: e.Erased.RunID, StartedAt: e.Erased.StartedAt,
		Deletions: e.Deletions, Empty: e.empty}
	var a *Activities
	var erased Erasing
	if err := workflow.ExecuteActivity(options, a.EraseStores, r).Get(ctx, &erased); err != nil {
		return err // retried for ever; only cancellation ends it
	}
	e.Deletions, r.Failed = erased.Deletions, erased.Failed
	var counts []Count
	if err := workflow.ExecuteActivity(options, a.CountStores, r).Get(ctx, &counts); err != nil {
		return err
	}
	before := len(e.Remaining)
	e.Rounds, e.empty = e.Rounds+1, nil
	e.Remaining = remaining(counts, e.Remaining, workflow.Now(ctx))
	for _, c := range counts {
		if c.Count == 0 {
			e.empty = append(e.empty, c.Store)
		}
	}
	if len(e.Remaining)+before == 0 {
		return nil
	}
	return e.show(ctx, Progress{
		User: e.Scope.User, RequestID: e.RequestID, StartedAt: e.StartedAt, Rounds: e.Rounds, Remaining: e.Remaining,
	})
}

// show sets the Progress in the memo; nil removes it.
func (e *erasing) show(ctx workflow.Context, progress any) error {
	if !e.shown {
		return nil
	}
	return workflow.UpsertMemo(ctx, map[string]any{MemoProgress: progress})
}

// remaining are the stores that still hold something. Each keeps the time since when counts have found something.
func remaining(counts []Count, before []Remainder, now time.Time) []Remainder {
	since := map[string]time.Time{}
	for _, b := range before {
		since[b.Store] = b.Since
	}
	var left []Remainder
	for _, c := range counts {
		if c.Count == 0 {
			continue
		}
		at, ok := since[c.Store]
		if !ok {
			at = now
		}
		left = append(left, Remainder{Count: c, Since: at})
	}
	return left
}
