package booster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Decisions keeps the filter's decisions on dropped turns. It is the part of the bank that attribution uses.
type Decisions interface {
	// Dropped returns the kept decisions on turns.
	Dropped(ctx context.Context, scope memory.Scope, turnIDs []string) ([]memory.Dropped, error)
	// WriteDropped keeps decisions. The last one on a turn replaces earlier ones.
	WriteDropped(ctx context.Context, scope memory.Scope, dropped []memory.Dropped) error
	// EraseDropped removes all decisions on a user's turns.
	EraseDropped(ctx context.Context, scope memory.Scope) error
}

// Attribution keeps the filter's decisions on dropped turns, so that a later query can explain why a turn is not
// remembered. It is a separate consumer, so that the intake does not wait for it. The intake makes turns visible to
// queries.
type Attribution struct {
	Decisions Decisions
	Now       func() time.Time
}

// Handle is the bus handler. A batch belongs to one user. Handle writes each batch at once, and an erasure in it
// removes all earlier decisions. A user's events keep their order, so the erasure event follows every earlier batch.
// A late batch therefore leaves no erased data behind. Handle skips an unreadable record, because the intake makes it
// a dead letter.
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
	dropped, err := a.dropDecided(ctx, scope, dropped)
	if err != nil || len(dropped) == 0 {
		return err
	}
	return fault.During("write dropped turns", a.Decisions.WriteDropped(ctx, scope, dropped))
}

// dropDecided removes decisions on turns with an earlier decision. Consolidation compares the time of a drop with the
// time of a pass. A later time in place of the first would let a dropped turn pass.
func (a *Attribution) dropDecided(
	ctx context.Context, scope memory.Scope, dropped []memory.Dropped,
) ([]memory.Dropped, error) {
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

// droppedOf returns the decision with only the ids and the time of the turn.
func droppedOf(e contract.SalientEvent) memory.Dropped {
	return memory.Dropped{
		TurnID: e.Dropped.ID, SessionID: e.SessionID, Time: e.Dropped.Time,
		Score: e.Decision.Score, Threshold: e.Decision.Threshold, PolicyVersion: e.Decision.PolicyVersion,
		DecidedAt: e.Decision.DecidedAt,
	}
}
