package booster

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"google.golang.org/protobuf/proto"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/bustest"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

var (
	at    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	scope = memory.Scope{Tenant: "acme", User: "ana"}
)

// outbox keeps the published messages.
type outbox struct {
	msgs []bus.Message
	err  error
}

func (o *outbox) Publish(_ context.Context, msgs ...bus.Message) error {
	if o.err == nil {
		o.msgs = append(o.msgs, msgs...)
	}
	return o.err
}

func (o *outbox) Close() error { return nil }

func announcing(t *testing.T, out bus.Publisher) announcer {
	t.Helper()
	a, err := newAnnouncer(out, noop.NewMeterProvider().Meter("test"))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestChangesAreAnnouncedInOrderUnderTheUsersKey(t *testing.T) {
	out := &outbox{}
	changes := []memory.Change{
		{OperationID: "op1", Kind: memory.OpAdd, MemoryID: "m1"},
		{OperationID: "op2", Kind: memory.OpUpdate, MemoryID: "m2", Closed: []string{"m0"}},
		{OperationID: "op3", Kind: memory.OpDelete, MemoryID: "m1", Closed: []string{"m1"}, Tier: memory.TierTalk},
	}
	if err := announcing(t, out).Announce(t.Context(), scope, changes, at); err != nil {
		t.Fatal(err)
	}
	if len(out.msgs) != len(changes) {
		t.Fatalf("%d records of %d changes", len(out.msgs), len(changes))
	}
	for i, m := range out.msgs {
		got, err := contract.DecodeMemoryChange(m.Key, m.Value)
		if err != nil || m.Topic != contract.TopicMemoryChanges {
			t.Fatalf("record %d on %s: %v", i, m.Topic, err)
		}
		want := contract.MemoryChange{
			Envelope:  contract.Envelope{EventID: changes[i].OperationID, Scope: scope},
			Operation: changes[i].Kind, MemoryID: changes[i].MemoryID, ClosedIDs: changes[i].Closed, Tier: changes[i].Tier,
			Time: at,
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("record %d is %+v, want %+v", i, got, want)
		}
	}
}

func TestWhatCannotBePublishedIsAnError(t *testing.T) {
	unavailable := errors.New("brokers are unavailable")
	a := announcing(t, &outbox{err: unavailable})
	changes := []memory.Change{{OperationID: "op1", Kind: memory.OpAdd, MemoryID: "m1"}}
	if err := a.Announce(t.Context(), scope, changes, at); !errors.Is(err, unavailable) {
		t.Errorf("announcing gave %v", err)
	}
	if err := a.DeadLetter(t.Context(), batch(), "why", at); !errors.Is(err, unavailable) {
		t.Errorf("putting aside gave %v", err)
	}
}

func batch() consolidation.Batch {
	turn := func(n, text string) consolidation.Turn {
		return consolidation.Turn{EventID: "e" + n, DecidedAt: at, Turn: memory.Turn{
			ID: "t" + n, SessionID: "s1", Speaker: "Ana", Role: memory.RoleUser, Text: text, Caption: "a dog",
			Time: at.Add(-time.Hour),
		}}
	}
	return consolidation.Batch{
		Scope: scope, SessionID: "s1", Turns: []consolidation.Turn{turn("1", "I live in Porto."), turn("2", "I moved.")},
	}
}

// The dead letter of a session's end explains itself, because it is one more letter than the turns.
func TestTheDeadLetterOfASessionsEndSaysWhatItIs(t *testing.T) {
	out, b := &outbox{}, batch()
	b.ClosedAt = at
	if err := announcing(t, out).DeadLetter(t.Context(), b, "turn.turn_id: is wrong", at); err != nil {
		t.Fatal(err)
	}
	for i, m := range out.msgs {
		var l mnemev1.DeadLetter
		if err := proto.Unmarshal(m.Value, &l); err != nil {
			t.Fatal(err)
		}
		end := i == len(b.Turns)
		if !strings.Contains(l.GetReason(), "turn.turn_id: is wrong") ||
			strings.Contains(l.GetReason(), "the end of the session") != end {
			t.Errorf("letter %d: %q", i, l.GetReason())
		}
	}
}

func TestTurnsThatAreGivenUpAreCounted(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	a, err := newAnnouncer(&outbox{}, sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("test"))
	if err != nil {
		t.Fatal(err)
	}
	later := batch()
	later.Instead = "llm"
	if err := errors.Join(a.DeadLetter(t.Context(), batch(), "why", at),
		a.DeadLetter(t.Context(), later, "no budget", at)); err != nil {
		t.Fatal(err)
	}
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	want := metricdata.Sum[int64]{Temporality: metricdata.CumulativeTemporality, IsMonotonic: true}
	for _, handler := range []string{"consolidation", "budget"} {
		want.DataPoints = append(want.DataPoints, metricdata.DataPoint[int64]{Value: 2, Attributes: attribute.NewSet(
			telemetry.AttrTenant.String(scope.Tenant), telemetry.AttrOutcome.String(handler))})
	}
	metricdatatest.AssertAggregationsEqual(t, want, data.ScopeMetrics[0].Metrics[0].Data, metricdatatest.IgnoreTimestamp())
}

// TestAReplayedDeadLetterIsTheSalientTurnAgain uses the bus: it publishes dead letters, replays them and compares the
// result.
func TestAReplayedDeadLetterIsTheSalientTurnAgain(t *testing.T) {
	broker := bustest.StartBroker(t, 1, contract.TopicSalientTurns, contract.TopicDeadLetters)
	publisher := broker.Publisher()
	if err := announcing(t, publisher).DeadLetter(t.Context(), batch(), "candidates[0]: is no object", at); err != nil {
		t.Fatal(err)
	}
	tel, err := telemetry.New(t.Context(), "test", "", telemetry.Config{LogLevel: "error", LogFormat: "text"}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	defer tel.Shutdown(context.WithoutCancel(t.Context()))
	ins, err := bus.NewInstruments(bus.Telemetry{Tracer: tel.Tracer, Meter: tel.Meter, Log: tel.Log,
		Propagator: tel.Propagator})
	if err != nil {
		t.Fatal(err)
	}
	deadLetters, err := bus.DeadLetters(t.Context(), bus.ReplayConfig{}, broker.Source("list", contract.TopicDeadLetters))
	if err != nil {
		t.Fatal(err)
	}
	checkDeadLetters(t, deadLetters)
	result, err := bus.Replay(t.Context(), bus.ReplayConfig{Handler: "consolidation", KeyPrefix: "acme/ana"},
		broker.Source("replay", contract.TopicDeadLetters), publisher, ins)
	if err != nil || result.Replayed != 2 {
		t.Fatalf("replay: %+v, %v", result, err)
	}
	checkReplayed(t, broker.Source("read", contract.TopicSalientTurns))
}

func checkDeadLetters(t *testing.T, deadLetters []*mnemev1.DeadLetter) {
	t.Helper()
	if len(deadLetters) != 2 {
		t.Fatalf("%d dead letters of two turns", len(deadLetters))
	}
	if deadLetters[0].GetId() == deadLetters[1].GetId() || deadLetters[0].GetId() == "" {
		t.Error("dead letters of different turns share an id")
	}
	for _, l := range deadLetters {
		if l.GetReason() != "candidates[0]: is no object" || l.GetHandler() != "consolidation" ||
			!l.GetTime().AsTime().Equal(at) {
			t.Errorf("got %v", l)
		}
	}
	if text := deadLetters[0].GetReason() + deadLetters[0].GetId(); strings.Contains(text, "Porto") {
		t.Error("a dead letter tells the turn's text beside its value")
	}
	out := &outbox{}
	if err := announcing(t, out).DeadLetter(t.Context(), batch(), "again", at.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	again := new(mnemev1.DeadLetter)
	if err := proto.Unmarshal(out.msgs[0].Value, again); err != nil || again.GetId() != deadLetters[0].GetId() {
		t.Errorf("the same turn has the id %s, before %s (%v)", again.GetId(), deadLetters[0].GetId(), err)
	}
}

func checkReplayed(t *testing.T, source bus.Source) {
	t.Helper()
	defer source.Close()
	gen, err := source.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer gen.Release()
	var got []bus.Message
	for len(got) < 2 && t.Context().Err() == nil {
		fetched, err := gen.Fetch(t.Context(), gen.Partitions()[0])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fetched.Messages...)
	}
	b := batch()
	for i, m := range got {
		e, err := contract.DecodeSalientEvent(m.Key, m.Value, at)
		if err != nil {
			t.Fatalf("the booster would refuse the replayed turn: %v", err)
		}
		want := b.Turns[i]
		if e.Turn == nil || !reflect.DeepEqual(*e.Turn, want.Turn) || e.EventID != want.EventID || e.Scope != scope ||
			e.SessionID != "s1" ||
			!e.Decision.DecidedAt.Equal(want.DecidedAt) {
			t.Errorf("turn %d came back as %+v", i, e)
		}
	}
}
