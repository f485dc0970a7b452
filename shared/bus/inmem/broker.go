// Package inmem is the bus in memory: the same contracts as package kafka, without a server
// and without persistence, for tests of what consumes and publishes.
package inmem

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/fault"
)

// MaxRecordBytes is the largest record, as in package kafka.
const MaxRecordBytes = 4 << 20

// Broker holds topics and consumer groups. Make one with NewBroker; it is safe for concurrent use.
type Broker struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change: waiting is selecting on it
	down    bool
	topics  map[string][][]bus.Message
	firsts  map[bus.Partition]int64 // where a partition was cut off; the records before are empty
	groups  map[string]*group
}

// NewBroker returns a broker without topics.
func NewBroker() *Broker {
	return &Broker{
		changed: make(chan struct{}), topics: make(map[string][][]bus.Message), groups: make(map[string]*group),
		firsts: make(map[bus.Partition]int64),
	}
}

// CreateTopic makes a topic, or leaves it as it is when it exists.
func (b *Broker) CreateTopic(name string, partitions int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.topics[name]; !ok {
		b.topics[name] = make([][]bus.Message, partitions)
		b.notify()
	}
}

// Stop takes the broker away until Start: members lose their generations, requests wait.
func (b *Broker) Stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = true
	for _, g := range b.groups {
		g.endGeneration()
	}
	b.notify()
}

// Start brings the broker back with everything it held.
func (b *Broker) Start() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = false
	b.notify()
}

// Committed returns what a group has committed: the offset of the next record by partition.
func (b *Broker) Committed(groupName string) map[bus.Partition]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make(map[bus.Partition]int64)
	if g := b.groups[groupName]; g != nil {
		for p, next := range g.committed {
			out[p] = next
		}
	}
	return out
}

// notify wakes everybody who waits. The lock must be held.
func (b *Broker) notify() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// await blocks until ready, called with the lock held, reports true, and returns with the
// lock held if the error is nil.
func (b *Broker) await(ctx context.Context, ready func() bool) error {
	for {
		b.mu.Lock()
		if ready() {
			return nil
		}
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		}
	}
}

// Publisher returns a publisher.
func (b *Broker) Publisher() bus.Publisher {
	p := &publisher{broker: b}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

type publisher struct {
	broker   *Broker
	balancer kafkago.Murmur2Balancer
	life     context.Context
	end      context.CancelFunc
}

// Publish appends when the broker is up and knows the topics.
func (p *publisher) Publish(ctx context.Context, msgs ...bus.Message) error {
	for _, m := range msgs {
		if m.Topic == "" {
			return fault.Terminal("topic", "must not be empty")
		}
		if m.Size() > MaxRecordBytes {
			return fault.Terminal("", "record of %d bytes is larger than %d", m.Size(), MaxRecordBytes)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.life, func() { cancel(bus.ErrClosed) })()
	unknown := func(m bus.Message) bool { _, ok := p.broker.topics[m.Topic]; return !ok }
	err := p.broker.await(ctx, func() bool { return !p.broker.down && !slices.ContainsFunc(msgs, unknown) })
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	defer p.broker.mu.Unlock()
	for _, m := range msgs {
		p.append(m)
	}
	p.broker.notify()
	return nil
}

// append copies the record, which still belongs to the caller.
func (p *publisher) append(m bus.Message) {
	topic := p.broker.topics[m.Topic]
	ids := make([]int, len(topic))
	for i := range ids {
		ids[i] = i
	}
	m.Partition = p.balancer.Balance(kafkago.Message{Key: m.Key}, ids...)
	m.Offset = int64(len(topic[m.Partition]))
	if m.Time.IsZero() {
		m.Time = time.Now()
	}
	topic[m.Partition] = append(topic[m.Partition], clone(m))
}

// Close makes calls under way fail.
func (p *publisher) Close() error {
	p.end()
	return nil
}

func clone(m bus.Message) bus.Message {
	m.Key, m.Value, m.Headers = slices.Clone(m.Key), slices.Clone(m.Value), slices.Clone(m.Headers)
	for i := range m.Headers {
		m.Headers[i].Value = slices.Clone(m.Headers[i].Value)
	}
	return m
}
