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
	"github.com/mneme-memory/mneme/shared/store/window"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/shared/text"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// maxContextText is the maximum length of a dropped turn that is read with its session, in bytes.
const maxContextText = 4 << 10

// maxSignalBytes keeps a signal well below the limit of 2 MB per payload.
const maxSignalBytes = 512 << 10

// Intake accepts salient events. It adds salient turns to the window at once, so that the next query sees them. Then
// it sends all events to the user's workflow. A turn that a filter only marked is formed like others, but it does not
// enter the window. A turn that a gate dropped is context for the workflow.
type Intake struct {
	Tenants *tenant.Registry
	Window  window.Window
	Signal  func(ctx context.Context, p consolidation.Params, events []consolidation.Event) error
	Now     func() time.Time
}

// Handle is the bus handler. A batch belongs to one user. An invalid event is a terminal error, and nothing of its
// batch takes effect. All effects are idempotent, so a batch may come again.
func (in *Intake) Handle(ctx context.Context, batch []bus.Message) error {
	var taken taken
	var scope memory.Scope
	now := in.Now()
	for _, m := range batch {
		e, err := contract.DecodeSalientEvent(m.Key, m.Value, now)
		if err != nil {
			return err
		}
		scope = e.Scope
		taken.add(e, traceParent(ctx, m))
	}
	t, err := in.Tenants.Lookup(scope.Tenant)
	if err != nil {
		return err
	}
	// Only the intake adds to the window, and it adds in order. So this erasure removes only the turns before the
	// request.
	if taken.erased {
		if err := in.Window.Erase(ctx, scope); err != nil {
			return fmt.Errorf("erase window: %w", err)
		}
	}
	if len(taken.turns) > 0 {
		if err := in.Window.Append(ctx, scope, taken.turns); err != nil {
			return fmt.Errorf("append to window: %w", err)
		}
	}
	p := consolidation.Params{Scope: scope, Strategy: string(t.Strategy), Policy: string(t.Policy), TalkDays: t.TalkDays}
	for _, chunk := range chunks(taken.events) {
		if err := in.Signal(ctx, p, chunk); err != nil {
			return err
		}
	}
	return nil
}

// taken is the content of a batch: the turns for the window and the events for the user's workflow.
type taken struct {
	turns  []memory.Turn
	events []consolidation.Event
	erased bool
}

// add accepts an event. An erasure drops the earlier events of the batch, except other erasures.
func (t *taken) add(e contract.SalientEvent, traceParent string) {
	switch {
	case e.Dropped != nil:
		t.addContext(e, traceParent)
		return
	case e.Turn != nil:
		if e.Decision.Salient {
			t.turns = append(t.turns, *e.Turn)
		}
		rated := *e.Turn
		rated.Saliency = e.Decision
		e.Turn = &rated
	case !e.ErasedAt.IsZero():
		t.erased, t.turns = true, nil
		t.events = slices.DeleteFunc(t.events, func(e consolidation.Event) bool { return !e.Erase })
	}
	t.events = append(t.events, consolidation.Event{
		ID: e.EventID, SessionID: e.SessionID, Turn: e.Turn, DecidedAt: e.Decision.DecidedAt, ClosedAt: e.ClosedAt,
		IdleAfter: e.IdleAfter, Erase: !e.ErasedAt.IsZero(), TraceParent: traceParent,
	})
}

// addContext accepts a dropped turn. The workflow reads it with its session, and nothing else keeps it: it does not
// enter the window. A filter of an older version sent no text of dropped turns.
func (t *taken) addContext(e contract.SalientEvent, traceParent string) {
	if e.Dropped.Text == "" {
		return
	}
	said := *e.Dropped
	said.Attributes = memory.Attributes{} // no memory is formed from it
	said.Text, said.Caption, said.Saliency = text.Cut(said.Text, maxContextText), text.Cut(said.Caption, maxContextText),
		e.Decision
	t.events = append(t.events, consolidation.Event{
		ID: e.EventID, SessionID: e.SessionID, Turn: &said, Context: true, DecidedAt: e.Decision.DecidedAt,
		IdleAfter: e.IdleAfter, TraceParent: traceParent,
	})
}

// traceParent returns the trace for the event's consolidation: the delivery's span if it is part of the event's
// trace, or else the event's trace.
func traceParent(ctx context.Context, m bus.Message) string {
	own, here := bus.HeaderCarrier{Headers: &m.Headers}.Get("traceparent"), consolidation.TraceParent(ctx)
	if own == "" || sameTrace(own, here) {
		return here
	}
	return own
}

// sameTrace compares the trace ids of two W3C trace contexts ("00-<trace>-<span>-<flags>").
func sameTrace(a, b string) bool {
	const upto = len("00-") + 32
	return len(a) >= upto && len(b) >= upto && a[:upto] == b[:upto]
}

// chunks splits events into signals of limited size.
func chunks(events []consolidation.Event) [][]consolidation.Event {
	var out [][]consolidation.Event
	size, start := 0, 0
	for i, e := range events {
		n := 256
		if e.Turn != nil {
			n += len(e.Turn.Text) + len(e.Turn.Caption) + len(e.Turn.AgentID) + len(e.Turn.AppID) + len(e.Turn.RunID)
			if len(e.Turn.Metadata) > 0 {
				n += memory.MaxMetadataBytes
			}
		}
		if size+n > maxSignalBytes && i > start {
			out, start, size = append(out, events[start:i]), i, 0
		}
		size += n
	}
	if start < len(events) {
		out = append(out, events[start:])
	}
	return out
}

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
