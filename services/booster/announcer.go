package booster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/metric"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// announcer publishes and counts the changes of consolidations.
type announcer struct {
	out               bus.Publisher
	changes, rejected metric.Int64Counter
}

func newAnnouncer(out bus.Publisher, meter metric.Meter) (announcer, error) {
	changes, err1 := telemetry.MetricChanges.Counter(meter)
	rejected, err2 := telemetry.MetricRejected.Counter(meter)
	return announcer{out: out, changes: changes, rejected: rejected}, errors.Join(err1, err2)
}

// Announce implements consolidation.Announcer.
func (a announcer) Announce(ctx context.Context, scope memory.Scope, changes []memory.Change, at time.Time) error {
	msgs := make([]bus.Message, len(changes))
	for i, c := range changes {
		e := contract.MemoryChange{
			Envelope:  contract.Envelope{EventID: c.OperationID, Scope: scope},
			Operation: c.Kind, MemoryID: c.MemoryID, ClosedIDs: c.Closed, Tier: c.Tier, Time: at,
		}
		value, err := e.Encode()
		if err != nil {
			return fmt.Errorf("encode memory change: %w", err)
		}
		msgs[i] = bus.Message{Topic: contract.TopicMemoryChanges, Key: e.Key(), Value: value}
	}
	if err := a.out.Publish(ctx, msgs...); err != nil {
		return err
	}
	for _, c := range changes {
		a.changes.Add(ctx, 1, metric.WithAttributes(telemetry.AttrTenant.String(scope.Tenant),
			telemetry.AttrChange.String(string(c.Kind))))
	}
	return nil
}

// DeadLetter implements consolidation.Announcer. The batch's turns and the end of their session become dead letters.
// A replay returns them to the salient topic.
func (a announcer) DeadLetter(ctx context.Context, b consolidation.Batch, reason string, at time.Time) error {
	events := make([]contract.SalientEvent, 0, len(b.Turns)+1)
	for _, t := range b.Turns {
		events = append(events, contract.SalientEvent{
			Envelope: contract.Envelope{EventID: t.EventID, Scope: b.Scope, SessionID: b.SessionID}, Turn: &t.Turn,
			Decision: decisionOf(t),
		})
	}
	if !b.ClosedAt.IsZero() {
		events = append(events, contract.SalientEvent{
			Envelope: contract.Envelope{EventID: b.CloseID(), Scope: b.Scope, SessionID: b.SessionID}, ClosedAt: b.ClosedAt,
		})
	}
	msgs := make([]bus.Message, len(events))
	for i, e := range events {
		var err error
		why := reason
		if e.Turn == nil {
			why = reasonEnd + reason
		}
		if msgs[i], err = deadLetter(e, handlerOf(b), why, at); err != nil {
			return err
		}
	}
	if err := a.out.Publish(ctx, msgs...); err != nil {
		return err
	}
	a.rejected.Add(ctx, int64(len(b.Turns)), metric.WithAttributes(
		telemetry.AttrTenant.String(b.Scope.Tenant), telemetry.AttrOutcome.String(handlerOf(b))))
	return nil
}

// reasonEnd is the prefix of the reason in the dead letter of a session's end. The reason of the turns follows.
const reasonEnd = "the end of the session: replay it with its turns, so that they form at once; the error of " +
	"the turns: "

// handlerOf returns the handler that put a batch aside. So an operator can replay only the batches that wait for a
// token budget.
func handlerOf(b consolidation.Batch) string {
	if b.Instead != "" {
		return "budget"
	}
	return "consolidation"
}

// decisionOf returns the filter's decision on a turn of a batch. A turn without a recorded decision counts as passed
// at its decision time.
func decisionOf(t consolidation.Turn) memory.SaliencyDecision {
	d := t.Saliency
	if d.DecidedAt.IsZero() {
		d.Salient, d.DecidedAt = true, t.DecidedAt
	}
	return d
}

// deadLetter returns the dead letter of a salient event.
func deadLetter(e contract.SalientEvent, handler, reason string, at time.Time) (bus.Message, error) {
	value, err := e.Encode()
	if err != nil {
		return bus.Message{}, fmt.Errorf("encode salient event: %w", err)
	}
	id := e.EventID
	if e.Turn != nil {
		id = memory.DeriveTurnID(e.Scope, e.Turn.ID)
	}
	body, err := proto.Marshal(&mnemev1.DeadLetter{
		SchemaVersion: contract.SchemaVersion, Id: id, Reason: reason, Handler: handler,
		Topic: contract.TopicSalientTurns, Partition: -1, Offset: -1, Key: e.Key(), Value: value, Time: timestamppb.New(at),
	})
	if err != nil {
		return bus.Message{}, fmt.Errorf("encode dead letter: %w", err)
	}
	return bus.Message{Topic: contract.TopicDeadLetters, Key: e.Key(), Value: body}, nil
}
