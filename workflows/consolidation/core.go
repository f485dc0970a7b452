package consolidation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mneme-memory/mneme/shared/formation/constraint"
	"github.com/mneme-memory/mneme/shared/formation/guard"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// coreInput is the changes that may affect a core block kept by consolidation.
type coreInput struct {
	scope     memory.Scope
	strategy  string
	sessionID string
	// written are entries that hold from now on, closed are the ids of entries that no longer hold.
	written []memory.Memory
	closed  []string
	now     time.Time
}

// keepCore recomputes the core block if the written entries may change it, and returns the changes. It leaves a block
// alone that the strategy writes. The block is a function of the entries that hold, so a repeated or late call gives
// the same block. It returns the changes of an earlier attempt again, because that attempt may have ended before the
// announcement.
func (a *Activities) keepCore(ctx context.Context, in coreInput) ([]memory.Change, error) {
	if tenant.Strategy(in.strategy).WritesCore() {
		return nil, nil
	}
	core, err := a.Bank.Core(ctx, in.scope)
	if err != nil {
		return nil, fmt.Errorf("read core block: %w", err)
	}
	var changes []memory.Change
	if core.Version > 0 && core.SessionID == in.sessionID && core.UpdatedAt.Equal(in.now) {
		changes = memory.LinesChanges(in.scope, core)
	}
	closed, err := a.endedEntries(ctx, in.scope, in.closed)
	if err != nil {
		return nil, err
	}
	if !constraint.Touches(core, in.written, closed) {
		return changes, nil
	}
	chosen, err := a.constraints(ctx, in.scope)
	if err != nil {
		return nil, err
	}
	next := memory.PlanLines(in.scope, core, chosen.Lines, chosen.Sources, in.sessionID, constraint.Version(), in.now)
	if next == nil {
		return changes, nil
	}
	if err := a.Bank.Write(ctx, in.scope, memory.Write{Core: next}); err != nil {
		return nil, fmt.Errorf("write core block: %w", err)
	}
	return memory.LinesChanges(in.scope, *next), nil
}

// endedEntries returns entries that ceased to hold, in their last valid form. It omits deleted entries.
func (a *Activities) endedEntries(ctx context.Context, scope memory.Scope, ids []string) ([]memory.Memory, error) {
	var out []memory.Memory
	for _, id := range ids {
		m, err := a.Bank.Get(ctx, scope, id)
		if errors.Is(err, bank.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read outdated memories: %w", err)
		}
		m.Status = memory.StatusActive
		out = append(out, m)
	}
	return out, nil
}

// constraints selects from all entries of the user that hold. It ignores statements of an assistant or another
// speaker, and statements that the user only quoted.
func (a *Activities) constraints(ctx context.Context, scope memory.Scope) (constraint.Chosen, error) {
	var active []memory.Memory
	o := bank.ListOptions{Statuses: []memory.Status{memory.StatusActive}, Limit: bank.MaxLimit}
	for m, err := range bank.EachMemory(ctx, a.Bank, scope, o) {
		if err != nil {
			return constraint.Chosen{}, err
		}
		active = append(active, m)
	}
	candidates := constraint.Candidates(active)
	if len(candidates) == 0 {
		return constraint.Chosen{}, nil
	}
	turns, err := a.Bank.Turns(ctx, scope, turnsToRead(candidates, active))
	if err != nil {
		return constraint.Chosen{}, fmt.Errorf("read turns: %w", err)
	}
	owns := memory.OwnerOf(scope, turns).Is
	turns = slices.DeleteFunc(turns, func(t memory.Turn) bool {
		return t.Role == memory.RoleAssistant || !owns(t.Speaker)
	})
	return constraint.Choose(slices.DeleteFunc(candidates, func(m memory.Memory) bool {
		return m.Speaker != "" && !owns(m.Speaker) || !guard.IsOwn(m, turns)
	}), func(m memory.Memory, clause string) bool { return guard.Says(m, clause, turns) }), nil
}

// maxHeard is the number of newest entries whose speakers are read, as well as the candidates.
const maxHeard = 200

// turnsToRead returns the sources of the candidates and of the newest entries.
func turnsToRead(candidates, active []memory.Memory) []string {
	var ids []string
	for _, m := range candidates {
		ids = append(ids, m.Sources...)
	}
	for _, m := range active[max(0, len(active)-maxHeard):] {
		ids = append(ids, m.Sources...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
