package bustest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/shared/bus"
)

func orderOfKey(r *fixture) {
	const n, keys = 2000, 40
	r.tr.CreateTopic(r, r.topic, 4)
	rec := new(recorder)
	var mu sync.Mutex
	busy := make(map[string]bool)
	enter := func(key string, is bool) {
		mu.Lock()
		defer mu.Unlock()
		if busy[key] == is {
			r.Errorf("key %s is in two hands at once", key)
		}
		busy[key] = is
	}
	r.consume(func(ctx context.Context, batch []bus.Message) error {
		key := string(batch[0].Key)
		enter(key, true)
		defer enter(key, false)
		for _, m := range batch {
			if string(m.Key) != key || m.Partition != batch[0].Partition {
				r.Errorf("a batch mixes %s with %s", key, m.Key)
			}
		}
		return rec.handle(ctx, batch)
	})
	for chunk := range slices.Chunk(r.numbered(n, keys), 100) {
		r.publish(chunk...)
	}
	r.eventually("all records are delivered", func() bool { return len(rec.values()) == n })
	rec.checkOrder(r)
}

// parallelKeys passes only when both keys of one partition are handled at the same time.
func parallelKeys(r *fixture) {
	r.tr.CreateTopic(r, r.topic, 1)
	here := map[string]chan struct{}{"a": make(chan struct{}), "b": make(chan struct{})}
	met := make(chan struct{}, 2)
	r.consume(func(ctx context.Context, batch []bus.Message) error {
		close(here[string(batch[0].Key)])
		other := map[string]string{"a": "b", "b": "a"}[string(batch[0].Key)]
		select {
		case <-here[other]:
			met <- struct{}{}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	r.publish(r.say("a", "1"), r.say("b", "1"))
	within(r, "one key meets the other", met)
	within(r, "the other key meets the one", met)
}

func batchBounds(r *fixture) {
	const n = 60
	r.tr.CreateTopic(r, r.topic, 1)
	rec := new(recorder)
	var maxBytes int
	r.consume(gate(func(ctx context.Context, batch []bus.Message) error {
		size := 0
		for _, m := range batch {
			size += m.Size()
		}
		maxBytes = max(maxBytes, size) // one key, so no concurrent calls
		return rec.handle(ctx, batch)
	}), func(c *bus.Config) { c.MaxBatch, c.MaxBatchBytes = 10, 100 })
	r.publish(append(r.numbered(n, 1), r.say("gate", ""))...)
	r.eventually("all records are delivered", func() bool { return len(rec.values()) == n })
	r.committedReaches(0, n+1)
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if most := slices.Max(rec.sizes); most > 10 || most < 2 {
		r.Errorf("batches hold up to %d records, want 2 to 10", most)
	}
	if maxBytes > 100 {
		r.Errorf("a batch holds %d bytes, want at most 100", maxBytes)
	}
}

// gathering makes records wait for one without a wait, for a full batch, and for the end.
func gathering(r *fixture) {
	r.tr.CreateTopic(r, r.topic, 1)
	rec := new(recorder)
	m := r.consume(rec.handle, func(c *bus.Config) {
		c.MaxBatch = 3
		c.Gather = func(m bus.Message) time.Duration {
			if strings.HasPrefix(string(m.Value), "now") {
				return 0
			}
			return 100 * patience
		}
	})
	r.publish(r.say("a", "0"), r.say("a", "1"), r.say("b", "now"))
	r.eventually("what need not wait is delivered", func() bool { return slices.Equal(rec.values(), []string{"now"}) })
	r.publish(r.say("a", "now, a"))
	r.eventually("it takes along what waits", func() bool {
		return slices.Equal(rec.values()[1:], []string{"0", "1", "now, a"})
	})
	r.publish(r.say("c", "2"), r.say("c", "3"), r.say("c", "4"))
	r.eventually("a full batch waits for nothing", func() bool {
		return slices.Equal(rec.values()[4:], []string{"2", "3", "4"})
	})
	r.publish(r.say("d", "5"), r.say("e", "now, e"))
	r.eventually("the record behind it is delivered", func() bool {
		return slices.Equal(rec.values()[7:], []string{"now, e"})
	})
	m.stop()
	if got := rec.values()[8:]; !slices.Equal(got, []string{"5"}) {
		r.Errorf("at the end %q is delivered, want what waited", got)
	}
	r.committedReaches(0, 9)
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if want := []int{1, 3, 3, 1, 1}; !slices.Equal(rec.sizes, want) {
		r.Errorf("batches of %v records, want %v", rec.sizes, want)
	}
}

// javaPartitions uses keys with the hashes from the Java client's own tests.
func javaPartitions(r *fixture) {
	const partitions = 12
	hashes := map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string":                       -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971, "abc": 479470107,
	}
	r.tr.CreateTopic(r, r.topic, partitions)
	l := r.log(r.topic)
	rec := new(recorder)
	r.consume(rec.handle)
	for key := range hashes {
		r.publish(r.say(key, key))
	}
	r.eventually("all records are delivered", func() bool { return len(rec.values()) == len(hashes) })
	for _, m := range rec.all() {
		want := int(hashes[string(m.Key)]&0x7fffffff) % partitions
		if m.Partition != want {
			r.Errorf("key %q is on partition %d, the Java client puts it on %d", m.Key, m.Partition, want)
		}
		if got, err := l.PartitionOf(r.context(), m.Key); err != nil || got != m.Partition {
			r.Errorf("key %q is on partition %d, the log says %d, %v", m.Key, m.Partition, got, err)
		}
	}
}

// backPressure blocks the first record and counts the deliveries beyond it.
func backPressure(r *fixture) {
	const bound, n = 16, 200
	r.tr.CreateTopic(r, r.topic, 1)
	rec := new(recorder)
	open := make(chan struct{})
	m := r.consume(func(ctx context.Context, batch []bus.Message) error {
		_ = rec.handle(ctx, batch)
		if string(batch[0].Value) != "0" {
			return nil
		}
		select {
		case <-open:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, func(c *bus.Config) { c.MaxInFlight, c.Workers = bound, 64 })
	r.publish(r.numbered(n, n)...)
	r.eventually("the bound is used", func() bool { return len(rec.values()) == bound })
	close(open)
	r.eventually("all records are delivered", func() bool { return len(rec.values()) == n })
	r.committedReaches(0, n)
	m.stop()
	for i, v := range rec.values()[:bound] {
		var number int
		if _, err := fmt.Sscan(v, &number); err != nil || number >= bound {
			r.Errorf("delivery %d is of record %s: the window of %d was overrun", i, v, bound)
		}
	}
}

// drain stops the consumer during the handling of one record, while another one of the same key waits.
func drain(r *fixture) {
	r.tr.CreateTopic(r, r.topic, 1)
	rec := new(recorder)
	started, open := make(chan struct{}), make(chan struct{})
	var once sync.Once
	m := r.consume(func(ctx context.Context, batch []bus.Message) error {
		once.Do(func() { close(started) })
		select {
		case <-open:
		case <-ctx.Done():
			return ctx.Err()
		}
		return rec.handle(ctx, batch)
	})
	r.publish(r.say("k", "0"))
	within(r, "the handler starts", started)
	m.cancel()
	r.publish(r.say("k", "1"))
	close(open)
	m.stop()
	if got := rec.values(); !slices.Equal(got, []string{"0"}) {
		r.Fatalf("delivered %v, want only what was in flight", got)
	}
	if got := r.committed(0); got != 1 {
		r.Fatalf("committed %d after the drain, want 1", got)
	}
	// The member has left, so the next one does not wait for a session timeout.
	next := new(recorder)
	began := time.Now()
	r.consume(next.handle)
	r.eventually("the rest is delivered", func() bool { return slices.Equal(next.values(), []string{"1"}) })
	r.Logf("taken over after %v", time.Since(began))
}

// restart publishes through an outage, and checks that all members find the broker again.
func restart(r *fixture) {
	const n, keys = 300, 10
	r.tr.CreateTopic(r, r.topic, 2)
	rec := new(recorder)
	r.consume(rec.handle)
	msgs := r.numbered(n, keys)
	r.publish(msgs[:100]...)
	r.eventually("the first records are delivered", func() bool { return len(rec.values()) == 100 })
	published := make(chan error, 1)
	ctx := r.context()
	r.tr.Restart(r, func() {
		go func() {
			var err error
			for chunk := range slices.Chunk(msgs[100:], 7) {
				if err == nil {
					err = r.pub.Publish(ctx, chunk...)
				}
			}
			published <- err
		}()
	})
	r.must(within(r, "publishing goes on", published))
	r.eventually("the later records are delivered", func() bool { return len(rec.values()) == n })
	rec.checkOrder(r)
}

// fromEnd publishes until a record arrives, because the start of the member is not announced. Records that it
// received and did not finish come again after an outage: a membership begins at the end only once.
func fromEnd(r *fixture) {
	r.tr.CreateTopic(r, r.topic, 1)
	for range 20 {
		r.publish(r.say("tenant/user", "old"))
	}
	rec := new(recorder)
	begun := make(chan struct{})
	r.consumeFrom(r.tr.SourceFromEnd(r, r.group, r.topic), nil, func(ctx context.Context, batch []bus.Message) error {
		_ = rec.handle(ctx, batch)
		select {
		case <-begun:
			return nil
		default:
		}
		close(begun) // one key, so one call at a time
		<-ctx.Done()
		return ctx.Err()
	})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for waiting := true; waiting; {
		r.publish(r.say("tenant/user", "new"))
		select {
		case <-begun:
			waiting = false
		case <-tick.C:
		}
	}
	first := rec.all()[0].Offset
	r.tr.Restart(r, func() {})
	r.eventually("the unfinished record comes again", func() bool {
		return slices.ContainsFunc(rec.all()[1:], func(m bus.Message) bool { return m.Offset == first })
	})
	for _, m := range rec.all() {
		if string(m.Value) == "old" {
			r.Errorf("record %d is older than the membership", m.Offset)
		}
	}
}
