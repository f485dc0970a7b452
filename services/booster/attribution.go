package booster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Decisions keeps the filter's decisions on dropped turns. It is what attribution needs of the bank.
type Decisions interface {
	// Dropped returns the kept decisions on turns.
	Dropped(ctx context.Context, scope memory.Scope, turnIDs []string) ([]memory.Dropped, error)
	// WriteDropped keeps decisions, the last one of a turn in the place of earlier ones.
	WriteDropped(ctx context.Context, scope memory.Scope, dropped []memory.Dropped) error
	// EraseDropped removes all decisions on a user's turns.
	EraseDropped(ctx context.Context, scope memory.Scope) error
}

// Attribution keeps what the filter decided on turns that did not pass, so that it can be told later why something is not
// remembered. It is a consumer of its own: the intake, which makes turns visible to queries, does not wait for it.
type Attribution struct {
	Decisions Decisions
	Now       func() time.Time
}

// Handle is the bus handler: a batch is of one user. Each batch is written at once, and an erasure in it removes what came
// before. As a user's events keep their order, a late batch cannot leave behind what an erasure that overtook it has removed: the
// erasure's own event comes after it. A record that cannot be read is passed over here: the intake makes it a dead letter.
func (a *Attribution) Handle(ctx context.Context, batch []bus.Message) error {
	var scope memory.Scope
	var dropped []memory.Dropped
	erased, now := false, a.Now()
	for _, m := range batch {
		e, err := contract.DecodeSalientEvent(m.Key, m.Value, now)
		if err != nil {
			continue
		}
		scope = e.Scope
		switch {
		case e.Dropped != nil:
			dropped = append(dropped, droppedOf(e))
		case !e.ErasedAt.IsZero():
			erased, dropped = true, nil
		}
	}
	if erased {
		if err := a.Decisions.EraseDropped(ctx, scope); err != nil {
			return fmt.Errorf("erase dropped turns: %w", err)
		}
	}
	dropped, err := a.first(ctx, scope, dropped)
	if err != nil || len(dropped) == 0 {
		return err
	}
	if err := a.Decisions.WriteDropped(ctx, scope, dropped); err != nil {
		return fmt.Errorf("write dropped turns: %w", err)
	}
	return nil
}

// first leaves out decisions on turns that there is an earlier one on: consolidation compares the time of a decision to drop a turn with
// that of one to keep it, and a later time in the place of the first would have it take what was dropped.
func (a *Attribution) first(ctx context.Context, scope memory.Scope, dropped []memory.Dropped) ([]memory.Dropped, error) {
	if len(dropped) == 0 {
		return nil, nil
	}
	ids := make([]string, len(dropped))
	for i, d := range dropped {
		ids[i] = d.TurnID
	}
	known, err := a.Decisions.Dropped(ctx, scope, ids)
	if err != nil {
		return nil, fmt.Errorf("look up dropped turns: %w", err)
	}
	seen := map[string]bool{}
	for _, d := range known {
		seen[d.TurnID] = true
	}
	return slices.DeleteFunc(dropped, func(d memory.Dropped) bool {
		again := seen[d.TurnID]
		seen[d.TurnID] = true
		return again
	}), nil
}

// droppedOf is the decision without anything of the turn but its ids and time.
func droppedOf(e contract.SalientEvent) memory.Dropped {
	return memory.Dropped{
		TurnID: e.Dropped.ID, SessionID: e.SessionID, Time: e.Dropped.Time,
		Score: e.Decision.Score, Threshold: e.Decision.Threshold, PolicyVersion: e.Decision.PolicyVersion,
		DecidedAt: e.Decision.DecidedAt,
	}
}
