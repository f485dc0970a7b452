package kafka

import (
	"context"
	"errors"
	"slices"
	"sync"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/fault"
)

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
