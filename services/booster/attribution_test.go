package booster_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/mneme-memory/mneme/services/booster"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	bankinmem "github.com/mneme-memory/mneme/shared/store/bank/inmem"
)

// counting counts the writes of a bank, and fails on demand.
type counting struct {
	booster.Decisions
	writes, erasures int
	err              error
}

func (c *counting) WriteDropped(ctx context.Context, scope memory.Scope, dropped []memory.Dropped) error {
	c.writes++
	if c.err != nil {
		return c.err
	}
	return c.Decisions.WriteDropped(ctx, scope, dropped)
}

func (c *counting) Dropped(ctx context.Context, scope memory.Scope, turnIDs []string) ([]memory.Dropped, error) {
	if c.err != nil {
		return nil, c.err
	}
	return c.Decisions.Dropped(ctx, scope, turnIDs)
}

func (c *counting) EraseDropped(ctx context.Context, scope memory.Scope) error {
	c.erasures++
	if c.err != nil {
		return c.err
	}
	return c.Decisions.EraseDropped(ctx, scope)
}

// record encodes an event that fill completes.
func record(t *testing.T, fill func(*contract.SalientEvent)) bus.Message {
	t.Helper()
	e := contract.SalientEvent{Envelope: contract.Envelope{EventID: "e", Scope: ana, SessionID: "s1"}}
	fill(&e)
	value, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return bus.Message{Topic: contract.TopicSalientTurns, Key: e.Key(), Value: value}
}

func droppedRecord(t *testing.T, id string) bus.Message {
	return record(t, func(e *contract.SalientEvent) {
		e.Dropped = &memory.Turn{ID: id, Time: now.Add(-time.Hour)}
		e.Decision = memory.SaliencyDecision{Score: 0.2, Threshold: 0.35, PolicyVersion: "filter/3", DecidedAt: now}
	})
}

func TestAttributionKeepsDecisions(t *testing.T) {
	erasure := record(t, func(e *contract.SalientEvent) { e.SessionID, e.ErasedAt = "", now })
	closed := record(t, func(e *contract.SalientEvent) { e.ClosedAt = now })
	kept := record(t, func(e *contract.SalientEvent) {
		e.Turn = &memory.Turn{ID: "kept", SessionID: "s1", Speaker: "Ana", Role: memory.RoleUser, Text: "I swim", Time: now}
	})
	broken := bus.Message{Key: []byte("acme/ana"), Value: []byte("\xff")}
	d1, d2 := droppedRecord(t, "d1"), droppedRecord(t, "d2")
	later := record(t, func(e *contract.SalientEvent) {
		e.Dropped, e.Decision = &memory.Turn{ID: "d1", Time: now}, memory.SaliencyDecision{DecidedAt: now.Add(time.Second)}
	})
	for name, c := range map[string]struct {
		batches  [][]bus.Message
		want     []string
		writes   int
		erasures int
	}{
		"dropped turns, in one write":         {[][]bus.Message{{d1, kept, closed, d2}}, []string{"d1", "d2"}, 1, 0},
		"no dropped turn":                     {[][]bus.Message{{kept, closed}}, nil, 0, 0},
		"the batch comes again":               {[][]bus.Message{{d1}, {d1}}, []string{"d1"}, 1, 0},
		"the first decision on a turn stays":  {[][]bus.Message{{d1}, {later, d2}}, []string{"d1", "d2"}, 2, 0},
		"the first decision in a batch stays": {[][]bus.Message{{d1, later}}, []string{"d1"}, 1, 0},
		"an erasure removes what came before": {[][]bus.Message{{d1}, {d2, erasure}}, nil, 1, 1},
		"an erasure leaves what comes after":  {[][]bus.Message{{d1}, {erasure, d2}}, []string{"d2"}, 2, 1},
		"an erasure comes again, with the rest": {[][]bus.Message{{d1, erasure}, {d2}, {d1, erasure}, {d2}}, []string{"d2"},
			2, 2},
		"what cannot be read is the intake's": {[][]bus.Message{{broken, d1}, {broken}}, []string{"d1"}, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			store := bankinmem.New(2)
			counted := &counting{Decisions: store}
			a := &booster.Attribution{Decisions: counted, Now: func() time.Time { return now }}
			for _, batch := range c.batches {
				if err := a.Handle(t.Context(), batch); err != nil {
					t.Fatal(err)
				}
			}
			got, err := store.Dropped(t.Context(), ana, []string{"d1", "d2", "kept"})
			var ids []string
			for _, d := range got {
				ids = append(ids, d.TurnID)
				want := memory.Dropped{TurnID: d.TurnID, SessionID: "s1", Time: now.Add(-time.Hour), Score: 0.2, Threshold: 0.35,
					PolicyVersion: "filter/3", DecidedAt: now}
				if d != want {
					t.Errorf("got %+v, want %+v", d, want)
				}
			}
			slices.Sort(ids)
			if err != nil || !slices.Equal(ids, c.want) || counted.writes != c.writes || counted.erasures != c.erasures {
				t.Errorf("kept %v after %d writes and %d erasures, %v, want %v after %d and %d", ids, counted.writes,
					counted.erasures, err, c.want,
					c.writes, c.erasures)
			}
		})
	}
}

func TestAttributionWaitsForTheBank(t *testing.T) {
	unavailable := errors.New("the bank is unavailable")
	a := &booster.Attribution{Decisions: &counting{err: unavailable}, Now: func() time.Time { return now }}
	erasure := record(t, func(e *contract.SalientEvent) { e.SessionID, e.ErasedAt = "", now })
	for _, batch := range [][]bus.Message{{droppedRecord(t, "d1")}, {erasure}} {
		if err := a.Handle(t.Context(), batch); !errors.Is(err, unavailable) || fault.IsTerminal(err) {
			t.Errorf("got %v, want a retryable error", err)
		}
	}
}
