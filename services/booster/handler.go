package booster

import (
	"context"
	"fmt"
	"time"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/shared/window"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// maxSignalBytes keeps a signal well below the 2 MB that a payload may have.
const maxSignalBytes = 512 << 10

// Intake takes salient events in: into W at once, so that the next query sees them, then to
// the user's workflow.
type Intake struct {
	Tenants *tenant.Registry
	Window  window.Window
	Signal  func(ctx context.Context, p consolidation.Params, events []consolidation.Event) error
	Now     func() time.Time
}

// Handle is the bus handler: a batch is of one user. A record that is not a valid event is a
// terminal error, and nothing of its batch takes effect. Both effects are idempotent, so a batch may come again.
func (in *Intake) Handle(ctx context.Context, batch []bus.Message) error {
	var turns []memory.Turn
	var events []consolidation.Event
	var scope memory.Scope
	now := in.Now()
	for _, m := range batch {
		e, err := contract.DecodeSalientEvent(m.Key, m.Value, now)
		if err != nil {
			return err
		}
		scope = e.Scope
		if e.Turn != nil {
			turns = append(turns, *e.Turn)
		}
		if e.Dropped == nil {
			events = append(events, consolidation.Event{
				ID: e.EventID, SessionID: e.SessionID, Turn: e.Turn, ClosedAt: e.ClosedAt,
				TraceParent: traceParent(ctx, m),
			})
		}
	}
	t, err := in.Tenants.Lookup(scope.Tenant)
	if err != nil {
		return err
	}
	if len(turns) > 0 {
		if err := in.Window.Append(ctx, scope, turns); err != nil {
			return fmt.Errorf("append to window: %w", err)
		}
	}
	p := consolidation.Params{Scope: scope, Strategy: string(t.Strategy), Policy: string(t.Policy)}
	for _, chunk := range chunks(events) {
		if err := in.Signal(ctx, p, chunk); err != nil {
			return err
		}
	}
	return nil
}

// traceParent is the trace that the event's consolidation goes on with: the delivery's own span where that is of
// the event's trace, else the event's.
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

// chunks splits events into signals of bounded size.
func chunks(events []consolidation.Event) [][]consolidation.Event {
	var out [][]consolidation.Event
	size, start := 0, 0
	for i, e := range events {
		n := 256
		if e.Turn != nil {
			n += len(e.Turn.Text) + len(e.Turn.Caption)
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
