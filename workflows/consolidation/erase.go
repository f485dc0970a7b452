package consolidation

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Erased describes an erasure of the bank by the user's writer.
type Erased struct {
	Scope memory.Scope `json:"scope"`
	// RequestID is the id of the event that requested it.
	RequestID string `json:"request_id"`
	// RunID is the run of the user's workflow that erased the bank. The histories of this run and of all earlier runs
	// hold the user's texts.
	RunID string `json:"run_id"`
	// StartedAt is the start time of that run.
	StartedAt time.Time `json:"started_at"`
}

// Erasures erases the data that the user's writer does not own: dead letters, histories, traces.
type Erasures interface {
	// Begin is durable when it returns nil. The caller may repeat it with the same Erased.
	Begin(ctx context.Context, e Erased) error
}

// erase erases the bank before the run works on later events.
func (r *run) erase(ctx workflow.Context) error {
	r.refuseTelling()
	for len(r.state.Erasures) > 0 {
		var a *Activities
		e := r.state.Erasures[0]
		started := workflow.GetInfo(ctx).WorkflowStartTime
		in := EraseInput{Scope: r.params.Scope, RequestID: e.ID, RunStartedAt: started, Now: workflow.Now(ctx)}
		ctx := workflow.WithStartToCloseTimeout(foreverOptions(withTraceParent(ctx, e.TraceParent)), eraseTimeout)
		if err := workflow.ExecuteActivity(ctx, a.Erase, in).Get(ctx, nil); err != nil {
			return err // retried for ever; only cancellation ends it
		}
		r.state.Erasures = r.state.Erasures[1:]
	}
	r.erased = true
	return nil
}

// eraseTimeout bounds one attempt: a large bank takes several deletions.
const eraseTimeout = 10 * time.Minute

// Erase empties the user's bank, verifies that it is empty, and begins the erasure elsewhere. Only the single writer
// runs it, so the bank holds nothing newer than the request. The intake writes the window's turns and has erased
// them. Erase clears the writer's records of retired and held turns, because all of them are older than the request.
// It waits for stores only. Every error is retried, so that no erasure is given up.
func (a *Activities) Erase(ctx context.Context, in EraseInput) error {
	if err := a.Bank.Erase(ctx, in.Scope); err != nil {
		return fmt.Errorf("erase bank: %w", err)
	}
	left, err := a.Bank.Count(ctx, in.Scope)
	if err != nil {
		return fmt.Errorf("count bank: %w", err)
	}
	if n := left.Total(); n > 0 {
		return fmt.Errorf("erase bank: %d objects are left", n)
	}
	if err := a.Window.Reinstate(ctx, in.Scope); err != nil {
		return fmt.Errorf("erase the retired and the kept turns of the window: %w", err)
	}
	change := memory.Change{OperationID: in.RequestID, Kind: memory.OpErase}
	if err := a.Announce.Announce(ctx, in.Scope, []memory.Change{change}, in.Now); err != nil {
		return fmt.Errorf("announce erasure: %w", err)
	}
	run := activity.GetInfo(ctx).WorkflowExecution.RunID
	if err := a.Erasures.Begin(ctx, Erased{Scope: in.Scope, RequestID: in.RequestID, RunID: run,
		StartedAt: in.RunStartedAt}); err != nil {
		return fmt.Errorf("continue the erasure: %w", err)
	}
	return nil
}

// expireTalk removes talk that is older than the tenant keeps it. It runs after a consolidation and not in Apply. A
// repeated Apply still needs the talk that it closes.
func (r *run) expireTalk(ctx workflow.Context) {
	if r.params.TalkDays <= 0 || ctx.Err() != nil {
		return
	}
	var a *Activities
	now := workflow.Now(ctx)
	in := ExpireTalkInput{Scope: r.params.Scope, Before: now.AddDate(0, 0, -r.params.TalkDays), Now: now}
	if err := workflow.ExecuteActivity(storeOptions(ctx), a.ExpireTalk, in).Get(ctx, nil); err != nil && ctx.Err() == nil {
		r.state.LastFailure = reason(err) // the next consolidation repeats it
	}
}

// ExpireTalk removes old talk from the bank, and announces that for the caches of the bank. Repeated runs have the
// same result.
func (a *Activities) ExpireTalk(ctx context.Context, in ExpireTalkInput) error {
	if err := a.Bank.EraseTalk(ctx, in.Scope, in.Before); err != nil {
		return classify(fmt.Errorf("erase old talk: %w", err))
	}
	op := memory.Operation{Kind: memory.OpDelete,
		Sources: []string{"talk before " + in.Before.UTC().Format(time.RFC3339Nano)}}
	change := memory.Change{OperationID: memory.DeriveOperationID(in.Scope, op), Kind: op.Kind, Tier: memory.TierTalk}
	if err := a.Announce.Announce(ctx, in.Scope, []memory.Change{change}, in.Now); err != nil {
		return classify(fmt.Errorf("announce changes: %w", err))
	}
	return nil
}
