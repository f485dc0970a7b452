package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/fault"
)

// PublisherConfig describes a publisher. Zero values take the given defaults.
type PublisherConfig struct {
	// Cluster says how to reach the brokers.
	Cluster Cluster
	// MaxRecordBytes is the largest accepted record. The default is the constant MaxRecordBytes. The topics must
	// accept it.
	MaxRecordBytes int
	// BatchBytes is the maximum size of a request from a partition's queue, unless one record alone is larger. The
	// default is 1 MiB.
	BatchBytes int
	// RequestTimeout bounds one attempt. The default is 10 s.
	RequestTimeout time.Duration
	// RetryDelay is the pause between attempts. The default is 100 ms.
	RetryDelay time.Duration
	// Compression is the compression of the record batches. The default is none.
	Compression kafkago.Compression
}

func (c PublisherConfig) withDefaults() PublisherConfig {
	c.MaxRecordBytes = cmp.Or(c.MaxRecordBytes, MaxRecordBytes)
	c.BatchBytes = cmp.Or(c.BatchBytes, 1<<20)
	c.RequestTimeout = cmp.Or(c.RequestTimeout, 10*time.Second)
	c.RetryDelay = cmp.Or(c.RetryDelay, 100*time.Millisecond)
	return c
}

// publisher queues records by partition and has one request for each partition under way. Records that arrive
// meanwhile go with the next request. So batches grow with the load, and no record waits for a full batch.
// kafka-go's Writer is not used: it drops a batch after some attempts and continues with the next one, which breaks
// the order of a key.
type publisher struct {
	cfg         PublisherConfig
	client      *kafkago.Client
	closeClient func()
	balancer    kafkago.Murmur2Balancer
	topics      *topicTable

	life   context.Context
	end    context.CancelFunc
	mu     sync.Mutex
	closed bool
	queues map[bus.Partition]*queue
	active sync.WaitGroup
}

// NewPublisher returns a publisher that connects at its first use. All replicas in sync acknowledge the records.
// Keys fall on the partitions that the Java client chooses.
func NewPublisher(cfg PublisherConfig) (bus.Publisher, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Cluster.Validate(); err != nil {
		return nil, err
	}
	p := &publisher{cfg: cfg, queues: make(map[bus.Partition]*queue)}
	p.client, p.closeClient = cfg.Cluster.client()
	p.life, p.end = context.WithCancel(context.Background())
	p.topics = newTopicTable(p.client)
	return p, nil
}

// Publish queues the records and waits for all of them.
func (p *publisher) Publish(ctx context.Context, msgs ...bus.Message) error {
	for _, m := range msgs {
		if m.Topic == "" {
			return fault.Terminal("topic", "must not be empty")
		}
		if m.Size() > p.cfg.MaxRecordBytes {
			return fault.Terminal("", "record of %d bytes is larger than %d", m.Size(), p.cfg.MaxRecordBytes)
		}
	}
	if p.life.Err() != nil {
		return bus.ErrClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.life, func() { cancel(bus.ErrClosed) })()
	waiting, err := p.enqueueAll(ctx, msgs)
	if err != nil {
		return err
	}
	for _, e := range waiting {
		select {
		case err := <-e.result:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return fmt.Errorf("publish: %w", errors.Join(context.Cause(ctx), e.lastError()))
		}
	}
	return nil
}

// enqueueAll finds every partition before it queues a record. So a topic that cannot be found leaves no
// half-finished call.
func (p *publisher) enqueueAll(ctx context.Context, msgs []bus.Message) ([]*entry, error) {
	now := time.Now()
	entries := make([]*entry, len(msgs))
	for i, m := range msgs {
		partitions, err := p.lookUp(ctx, m.Topic)
		if err != nil {
			return nil, err
		}
		if m.Time.IsZero() {
			m.Time = now
		}
		m.Partition = p.balancer.Balance(kafkago.Message{Key: m.Key}, partitions...)
		entries[i] = &entry{ctx: ctx, message: m, result: make(chan error, 1)}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, bus.ErrClosed
	}
	for _, e := range entries {
		id := bus.Partition{Topic: e.message.Topic, ID: e.message.Partition}
		q := p.queues[id]
		if q == nil {
			q = &queue{id: id}
			p.queues[id] = q
			p.active.Go(func() { p.send(q) })
		}
		q.entries = append(q.entries, e)
	}
	return entries, nil
}

// lookUp waits for a topic until ctx is done: its creation may be under way.
func (p *publisher) lookUp(ctx context.Context, topic string) ([]int, error) {
	for {
		partitions, err := p.topics.get(ctx, topic, p.cfg.RequestTimeout)
		if err == nil {
			return partitions, nil
		}
		if isRefusal(err) {
			return nil, fault.Terminal("topic", "%w", err)
		}
		if !bus.Pause(ctx, p.cfg.RetryDelay) {
			return nil, fmt.Errorf("publish: %w", errors.Join(context.Cause(ctx), err))
		}
	}
}

// Close makes calls under way fail and waits for the requests, which end with it.
func (p *publisher) Close() error {
	p.end()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.active.Wait()
	p.closeClient()
	return nil
}

// queue holds the waiting records of one partition. It exists while a sender works on it.
type queue struct {
	id      bus.Partition
	entries []*entry
}

type entry struct {
	ctx     context.Context // of the caller, who stops waiting when it is done
	message bus.Message
	result  chan error

	mu   sync.Mutex
	last error
}

func (e *entry) lastError() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

func (e *entry) failed(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = err
}

// send works until the queue is empty.
func (p *publisher) send(q *queue) {
	for batch := p.next(q); batch != nil; batch = p.next(q) {
		p.sendUntilAcknowledged(q.id, batch)
	}
}

// sendUntilAcknowledged makes requests until every record of the batch has its result or no caller waits for it.
// Meanwhile it sends no later record of the partition. When a broker refuses a batch, settle sends its records one by
// one. So only the records at fault are refused.
func (p *publisher) sendUntilAcknowledged(id bus.Partition, batch []*entry) {
	for ; len(batch) > 0; batch = awaited(batch) {
		err := p.produce(id, batch)
		switch {
		case err == nil:
			finish(batch, nil)
			return
		case isRefusal(err) && len(batch) == 1:
			finish(batch, fault.Terminal("", "publish to %s: %w", id.Topic, err))
			return
		case isRefusal(err):
			for i := range batch {
				p.sendUntilAcknowledged(id, batch[i:i+1])
			}
			return
		}
		for _, e := range batch {
			e.failed(err)
		}
		bus.Pause(p.life, p.cfg.RetryDelay)
	}
}

func finish(batch []*entry, err error) {
	for _, e := range batch {
		e.result <- err
	}
}

// next takes the front of the queue, or removes the queue when it is empty.
func (p *publisher) next(q *queue) []*entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	q.entries = awaited(q.entries)
	if len(q.entries) == 0 {
		delete(p.queues, q.id)
		return nil
	}
	n, size := 1, q.entries[0].message.Size()
	for n < len(q.entries) {
		size += q.entries[n].message.Size()
		if size > p.cfg.BatchBytes {
			break
		}
		n++
	}
	batch := q.entries[:n:n]
	q.entries = q.entries[n:]
	return batch
}

// awaited drops the records of callers that have gone.
func awaited(entries []*entry) []*entry {
	gone := func(e *entry) bool { return e.ctx.Err() != nil }
	if !slices.ContainsFunc(entries, gone) {
		return entries
	}
	return slices.DeleteFunc(slices.Clone(entries), gone)
}

func (p *publisher) produce(id bus.Partition, batch []*entry) error {
	records := make([]kafkago.Record, len(batch))
	for i, e := range batch {
		records[i] = record(e.message)
	}
	ctx, cancel := context.WithTimeout(p.life, p.cfg.RequestTimeout)
	defer cancel()
	res, err := p.client.Produce(ctx, &kafkago.ProduceRequest{
		Topic: id.Topic, Partition: id.ID, RequiredAcks: kafkago.RequireAll,
		Records: kafkago.NewRecordReader(records...), Compression: p.cfg.Compression,
	})
	if err != nil {
		return err
	}
	return res.Error
}

func record(m bus.Message) kafkago.Record {
	r := kafkago.Record{Time: m.Time}
	if m.Key != nil {
		r.Key = kafkago.NewBytes(m.Key)
	}
	if m.Value != nil {
		r.Value = kafkago.NewBytes(m.Value)
	}
	for _, h := range m.Headers {
		r.Headers = append(r.Headers, kafkago.Header{Key: h.Key, Value: h.Value})
	}
	return r
}

// isRefusal reports whether an answer concerns the record and no retry changes it. Missing rights are no refusal:
// an operator can grant them, and the records must not be lost.
func isRefusal(err error) bool {
	return isOneOf(err, kafkago.MessageSizeTooLarge, kafkago.RecordListTooLarge, kafkago.InvalidTopic,
		kafkago.InvalidRecord)
}

func isOneOf(err error, known ...error) bool {
	return slices.ContainsFunc(known, func(e error) bool { return errors.Is(err, e) })
}
