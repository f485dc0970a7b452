package erasure_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/bustest"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/workflows/erasure"
)

// oneByOne is a log that returns one record per read, and notes the partitions of its reads.
type oneByOne struct {
	bus.Log
	read []int
}

func (l *oneByOne) Read(ctx context.Context, partition int, from int64) ([]bus.Message, int64, error) {
	l.read = append(l.read, partition)
	msgs, next, err := l.Log.Read(ctx, partition, from)
	if err != nil || len(msgs) == 0 {
		return msgs, next, err
	}
	return msgs[:1], msgs[0].Offset + 1, nil
}

// A user's events are in one partition. A count reads no other partition, and ends at the erasure's event.
func TestACountReadsThePartitionOfTheUserUpToTheErasure(t *testing.T) {
	broker := bustest.StartBroker(t, 4, contract.TopicSalientTurns)
	log := &oneByOne{Log: broker.Log(contract.TopicSalientTurns)}
	own, err := log.PartitionOf(t.Context(), []byte(ana.Key()))
	if err != nil {
		t.Fatal(err)
	}
	out := broker.Publisher()
	put := func(user, id string) int {
		e := contract.SalientEvent{Envelope: contract.Envelope{EventID: id, Scope: memory.Scope{Tenant: "acme", User: user}},
			ErasedAt: start}
		value, err := e.Encode()
		if err == nil {
			err = out.Publish(t.Context(), bus.Message{Topic: contract.TopicSalientTurns, Key: e.Key(), Value: value})
		}
		if err != nil {
			t.Fatal(err)
		}
		in, err := log.PartitionOf(t.Context(), e.Key())
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	before, others := 0, 0 // records of other users in the user's partition before the erasure, and in other partitions
	for i := range 40 {
		if put(fmt.Sprint("user-", i), "x1") == own {
			before++
		} else {
			others++
		}
	}
	for _, id := range []string{"x1", "x2", "x3"} {
		put("ana", id)
	}
	s := erasure.Attribution{Consumer: erasure.Consumer{
		Log: log, Committed: func(context.Context) (map[int]int64, error) { return map[int]int64{own: 1}, nil },
	}}
	n, err := s.Count(t.Context(), erasure.Request{Scope: ana, RequestID: "x1"})
	if err != nil || n != 1 || before == 0 || others == 0 {
		t.Fatalf("counted %d, %v, want 1; %d records before it, %d in other partitions", n, err, before, others)
	}
	if want := slices.Repeat([]int{own}, before); !slices.Equal(log.read, want) {
		t.Errorf("read the partitions %v, want %v", log.read, want)
	}
}

func TestAttributionIsWaitedForUntilItHasPassedTheErasure(t *testing.T) {
	broker := bustest.StartBroker(t, 1, contract.TopicSalientTurns)
	out := broker.Publisher()
	put := func(e contract.SalientEvent) {
		value, err := e.Encode()
		if err == nil {
			err = out.Publish(t.Context(), bus.Message{Topic: contract.TopicSalientTurns, Key: e.Key(), Value: value})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	envelope := func(scope memory.Scope, id string) contract.Envelope {
		return contract.Envelope{EventID: id, Scope: scope}
	}
	other := memory.Scope{Tenant: "acme", User: "ben"}
	said := contract.SalientEvent{Envelope: envelope(ana, "e0"), Dropped: &memory.Turn{ID: "t1", Time: start}}
	said.SessionID = "s1"
	put(said)                                                                    // 0
	put(contract.SalientEvent{Envelope: envelope(other, "x1"), ErasedAt: start}) // 1: another user's of the same id
	put(contract.SalientEvent{Envelope: envelope(ana, "x1"), ErasedAt: start})   // 2
	put(contract.SalientEvent{Envelope: envelope(ana, "x2"), ErasedAt: start})   // 3
	unavailable := errors.New("the broker is unavailable")
	for name, c := range map[string]struct {
		committed map[int]int64
		request   string
		err       error
		want      int
	}{
		"it is behind the turn":             {map[int]int64{0: 0}, "x1", nil, 1},
		"it is before the erasure":          {map[int]int64{0: 2}, "x1", nil, 1},
		"it has passed the erasure":         {map[int]int64{0: 3}, "x1", nil, 0},
		"it has passed one of two":          {map[int]int64{0: 3}, "x2", nil, 1},
		"it has finished another partition": {map[int]int64{7: 1}, "x1", nil, 1},
		"it never finished anything":        {nil, "x1", nil, 0},
		"a scan is of no erasure":           {map[int]int64{0: 0}, "", nil, 0},
		"nobody can tell":                   {nil, "x1", unavailable, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := erasure.Attribution{Consumer: erasure.Consumer{
				Log:       broker.Log(contract.TopicSalientTurns),
				Committed: func(context.Context) (map[int]int64, error) { return c.committed, c.err },
			}}
			r := erasure.Request{Scope: ana, RequestID: c.request}
			if err := s.Erase(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if n, err := s.Count(t.Context(), r); n != c.want || !errors.Is(err, c.err) {
				t.Errorf("counted %d, %v, want %d, %v", n, err, c.want, c.err)
			}
		})
	}
}
