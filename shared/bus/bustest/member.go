package bustest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/mneme-memory/mneme/shared/bus"
)

// member is a running consumer.
type member struct {
	fixture *fixture
	cancel  context.CancelFunc
	kill    func()
	done    chan struct{}
	err     error
}

// consume starts a consumer of the case's topic. It stops with the case at the latest.
func (r *fixture) consume(h bus.Handler, change ...func(*bus.Config)) *member {
	r.Helper()
	src, kill := r.tr.Source(r, r.group, r.topic)
	return r.consumeFrom(src, kill, h, change...)
}

// consumeFrom starts a consumer of a source.
func (r *fixture) consumeFrom(src bus.Source, kill func(), h bus.Handler, change ...func(*bus.Config)) *member {
	r.Helper()
	cfg := r.config()
	for _, f := range change {
		f(&cfg)
	}
	consumer, err := bus.NewConsumer(cfg, src, h, r.ins)
	r.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	m := &member{fixture: r, cancel: cancel, kill: kill, done: make(chan struct{})}
	go func() {
		defer close(m.done)
		m.err = consumer.Run(ctx)
	}()
	r.Cleanup(func() {
		cancel()
		within(r, "the consumer stops", m.done)
	})
	return m
}

// stop drains the consumer.
func (m *member) stop() {
	m.fixture.Helper()
	m.cancel()
	within(m.fixture, "the consumer drains", m.done)
	m.fixture.must(m.err)
}

// die cuts the consumer off, then ends its goroutines.
func (m *member) die() {
	m.kill()
	m.cancel()
	within(m.fixture, "the dead consumer's goroutines end", m.done)
}

// recorder records deliveries.
type recorder struct {
	mu    sync.Mutex
	msgs  []bus.Message
	sizes []int
}

func (rec *recorder) handle(_ context.Context, batch []bus.Message) error {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.sizes = append(rec.sizes, len(batch))
	rec.msgs = append(rec.msgs, batch...)
	return nil
}

func (rec *recorder) all() []bus.Message {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return slices.Clone(rec.msgs)
}

// values returns the distinct values in the order of their first delivery.
func (rec *recorder) values() []string {
	var out []string
	seen := make(map[string]bool)
	for _, m := range rec.all() {
		if v := string(m.Value); !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// checkOrder fails when first deliveries of a key are not in the order of their numbers.
func (rec *recorder) checkOrder(r *fixture) {
	r.Helper()
	last := make(map[string]int)
	seen := make(map[string]bool)
	for _, m := range rec.all() {
		id := string(m.Key) + "=" + string(m.Value)
		if seen[id] {
			continue
		}
		seen[id] = true
		var n int
		if _, err := fmt.Sscan(string(m.Value), &n); err != nil {
			r.Fatalf("value %q: %v", m.Value, err)
		}
		if before, ok := last[string(m.Key)]; ok && n < before {
			r.Errorf("key %s: %d was first delivered after %d", m.Key, n, before)
		}
		last[string(m.Key)] = n
	}
}

// gate blocks every key until a record with the key "gate" is delivered. That record does not reach next. A
// partition is read in order. So every record published before it waits in its key's queue, and makes one batch
// with its neighbours.
func gate(next bus.Handler) bus.Handler {
	open := make(chan struct{})
	var once sync.Once
	return func(ctx context.Context, batch []bus.Message) error {
		if string(batch[0].Key) == "gate" {
			once.Do(func() { close(open) })
			return nil
		}
		select {
		case <-open:
			return next(ctx, batch)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
