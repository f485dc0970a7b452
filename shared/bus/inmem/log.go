package inmem

import (
	"context"
	"fmt"

	"github.com/mneme-memory/mneme/shared/bus"
)

// Log returns a topic as a log. The topic must exist when it is used.
func (b *Broker) Log(topic string) bus.Log { return log{b, topic} }

type log struct {
	broker *Broker
	topic  string
}

// locked runs do with the lock held once the broker is up.
func (l log) locked(ctx context.Context, partition int, do func(p bus.Partition, records []bus.Message)) error {
	if err := l.broker.await(ctx, func() bool { return !l.broker.down }); err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	defer l.broker.mu.Unlock()
	partitions := l.broker.topics[l.topic]
	if partition >= len(partitions) {
		return fmt.Errorf("read log: no partition %d of topic %s", partition, l.topic)
	}
	do(bus.Partition{Topic: l.topic, ID: partition}, partitions[partition])
	return nil
}

// Partitions implements bus.Log.
func (l log) Partitions(ctx context.Context) ([]int, error) {
	var ids []int
	err := l.locked(ctx, 0, func(bus.Partition, []bus.Message) {
		for id := range l.broker.topics[l.topic] {
			ids = append(ids, id)
		}
	})
	return ids, err
}

// Bounds implements bus.Log.
func (l log) Bounds(ctx context.Context, partition int) (first, end int64, err error) {
	err = l.locked(ctx, partition, func(p bus.Partition, records []bus.Message) {
		first, end = l.broker.firsts[p], int64(len(records))
	})
	return first, end, err
}

// Read implements bus.Log.
func (l log) Read(ctx context.Context, partition int, from int64) (msgs []bus.Message, next int64, err error) {
	err = l.locked(ctx, partition, func(p bus.Partition, records []bus.Message) {
		from = max(from, l.broker.firsts[p])
		for _, m := range records[min(int(from), len(records)):min(int(from)+maxFetch, len(records))] {
			msgs = append(msgs, withPlace(clone(m), p))
		}
	})
	return msgs, from + int64(len(msgs)), err
}

// Cut implements bus.Log.
func (l log) Cut(ctx context.Context, partition int, before int64) error {
	return l.locked(ctx, partition, func(p bus.Partition, records []bus.Message) {
		clear(records[:before])
		l.broker.firsts[p] = max(l.broker.firsts[p], before)
	})
}

// Retention implements bus.Log: nothing leaves by itself.
func (l log) Retention(context.Context) (int64, error) { return -1, nil }

// Close implements bus.Log.
func (l log) Close() error { return nil }
