package consolidation

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/mneme-memory/mneme/shared/memory"
)

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
