package erasure_test

import (
	"context"
	"errors"
	"testing"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/bustest"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/workflows/erasure"
)

// waiting is a store of deliveries: so many wait, until an erasure removes them.
type waiting struct{ n int }

func (w *waiting) Erase(context.Context, memory.Scope, string) error { w.n = 0; return nil }

func (w *waiting) Count(context.Context, memory.Scope, string) (int, error) { return w.n, nil }

// The erasure waits until the consumer of webhooks has passed it. Until then the erasure removes no delivery. If
// the consumer never ran, or left deliveries when it passed the erasure, the erasure removes them.
func TestTheConsumerOfWebhooksIsWaitedFor(t *testing.T) {
	broker := bustest.StartBroker(t, 1, contract.TopicMemoryChanges)
	out := broker.Publisher()
	put := func(scope memory.Scope, id string, op memory.OpKind) {
		c := contract.MemoryChange{Envelope: contract.Envelope{EventID: id, Scope: scope}, Operation: op, Time: start}
		value, err := c.Encode()
		if err == nil {
			err = out.Publish(t.Context(), bus.Message{Topic: contract.TopicMemoryChanges, Key: []byte(scope.Key()),
				Value: value})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put(ana, "c0", memory.OpAdd)                                         // 0
	put(memory.Scope{Tenant: "acme", User: "ben"}, "x1", memory.OpErase) // 1: another user's of the same id
	put(ana, "x1", memory.OpErase)                                       // 2
	put(ana, "c1", memory.OpAdd)                                         // 3
	unavailable := errors.New("the broker is unavailable")
	for name, c := range map[string]struct {
		committed map[int]int64
		request   string
		err       error
		before    int // counted before anything is erased
		after     int
	}{
		"it is behind the change":           {map[int]int64{0: 0}, "x1", nil, 6, 6},
		"it is before the erasure":          {map[int]int64{0: 2}, "x1", nil, 6, 6},
		"it has passed the erasure":         {map[int]int64{0: 3}, "x1", nil, 5, 0},
		"it has finished another partition": {map[int]int64{7: 1}, "x1", nil, 6, 6},
		"it never finished anything":        {nil, "x1", nil, 5, 0},
		"a scan is of no erasure":           {map[int]int64{0: 0}, "", nil, 5, 0},
		"nobody can tell":                   {nil, "x1", unavailable, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := erasure.Deliveries{Kept: &waiting{5}, Consumer: erasure.Consumer{
				Log:       broker.Log(contract.TopicMemoryChanges),
				Committed: func(context.Context) (map[int]int64, error) { return c.committed, c.err },
			}}
			r := erasure.Request{Scope: ana, RequestID: c.request}
			if n, err := s.Count(t.Context(), r); n != c.before || !errors.Is(err, c.err) {
				t.Errorf("counted %d, %v, want %d", n, err, c.before)
			}
			if err := s.Erase(t.Context(), r); !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			if n, err := s.Count(t.Context(), r); n != c.after || !errors.Is(err, c.err) {
				t.Errorf("after the erasure counted %d, %v, want %d", n, err, c.after)
			}
		})
	}
}
