package consolidation

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Erased says that a user's writer has erased the bank.
type Erased struct {
	Scope memory.Scope `json:"scope"`
	// RequestID is the id of the event that asked for it.
	RequestID string `json:"request_id"`
	// RunID is the run of the user's workflow that did it: the histories of it and of all runs before it hold what was said.
	RunID string `json:"run_id"`
	// StartedAt is when that run began.
	StartedAt time.Time `json:"started_at"`
}

// Erasures erases what the user's writer does not own: dead letters, histories, traces.
type Erasures interface {
	// Begin is durable when it returns nil. It may be called again with the same Erased.
	Begin(ctx context.Context, e Erased) error
}

// erase has the bank erased, before anything is done with what came later.
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

// Erase empties the user's bank, proves that it is empty, and begins what is left to do elsewhere. It is the single writer that
// runs it, so nothing that came after the request is in the bank yet. The window's turns were erased by the intake, which writes
// them; what the writer has retired from it or had it keep since is forgotten here: all of that was said before the request. Store-bound;
// every error is retried, so that no erasure is given up.
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
		return fmt.Errorf("forget what was retired from the window and kept in it: %w", err)
	}
	change := memory.Change{OperationID: in.RequestID, Kind: memory.OpErase}
	if err := a.Announce.Announce(ctx, in.Scope, []memory.Change{change}, in.Now); err != nil {
		return fmt.Errorf("announce erasure: %w", err)
	}
	run := activity.GetInfo(ctx).WorkflowExecution.RunID
	if err := a.Erasures.Begin(ctx, Erased{Scope: in.Scope, RequestID: in.RequestID, RunID: run, StartedAt: in.RunStartedAt}); err != nil {
		return fmt.Errorf("go on with erasure: %w", err)
	}
	return nil
}
