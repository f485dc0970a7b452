// Package bus moves records between Mneme's services: at least once, in order for each key.
//
// A Consumer takes records from a Source (the port to a transport; its adapter is package
// kafka), hands batches of one key to a Handler, many keys at the same time, and commits
// what is finished. What surrounds a handler (tracing, retries, dead letters) is Middleware;
// Standard builds the usual chain.
package bus

import (
	"context"
	"time"
)

// Header is one header of a record. Keys may repeat.
type Header struct {
	// Key is the header's name.
	Key string
	// Value is the header's content.
	Value []byte
}

// Message is one record of a topic.
type Message struct {
	// Topic is where the record is, or is to be put.
	Topic string
	// Partition holds the record; ignored by Publish, which derives it from the key.
	Partition int
	// Offset is the record's position in its partition; ignored by Publish.
	Offset int64
	// Key orders: records of equal keys keep their order. Records without a key count as one key within a partition.
	Key []byte
	// Value is the payload.
	Value []byte
	// Headers accompany the payload, in order.
	Headers []Header
	// Time is when the record was created; Publish fills it with the current time when it is zero.
	Time time.Time
}

// Size returns the bytes of key, value and headers: what a record costs to hold.
func (m Message) Size() int {
	n := len(m.Key) + len(m.Value)
	for _, h := range m.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return n
}

// Handler handles a batch: one or more records of one key of one partition, in order. It
// owns neither the slice nor its bytes after it returned.
//
// A nil error says that every record of the batch is done. Any other error says that none
// may be counted as done: the batch is delivered again, so effects must be idempotent. A
// handler returns soon after ctx is done, because the partition may be about to move to
// another consumer.
type Handler func(ctx context.Context, batch []Message) error

// Middleware surrounds a handler.
type Middleware func(Handler) Handler

// Chain surrounds h with the middlewares, the first of them outermost.
func Chain(h Handler, mws ...Middleware) Handler {
	for i := len(mws) - 1; i >= 0; i-- {
		h = mws[i](h)
	}
	return h
}

// Publisher puts records on topics.
type Publisher interface {
	// Publish returns nil when all replicas in sync hold every record. The records of one key
	// keep the order they have in msgs, and calls that follow each other keep theirs. While the
	// transport is unavailable it keeps trying until ctx is done; after an error each record may or may
	// not have been written. A terminal error (fault.IsTerminal) says that a record can never be
	// published. Safe for concurrent use.
	Publish(ctx context.Context, msgs ...Message) error
	// Close releases the connections. Calls under way return an error.
	Close() error
}
