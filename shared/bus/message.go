// Package bus moves records between Mneme's services: at least once, in order for each key.
//
// A Consumer takes records from a Source, the port to a transport (its adapter is package kafka). It passes batches
// of one key to a Handler, many keys at the same time, and commits the finished records. A Middleware surrounds a
// handler, for tracing, retries or dead letters. Standard builds the usual chain.
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
	// Topic is the topic of the record, or its destination.
	Topic string
	// Partition holds the record. Publish ignores it and derives it from the key.
	Partition int
	// Offset is the record's position in its partition. Publish ignores it.
	Offset int64
	// Key sets the order: records of equal keys keep their order. Records without a key count as one key within a
	// partition.
	Key []byte
	// Value is the payload.
	Value []byte
	// Headers accompany the payload, in order.
	Headers []Header
	// Time is the creation time of the record. Publish sets a zero time to the current time.
	Time time.Time
}

// Size returns the bytes of key, value and headers: the memory cost of a record.
func (m Message) Size() int {
	n := len(m.Key) + len(m.Value)
	for _, h := range m.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return n
}

// Handler handles a batch: one or more records of one key of one partition, in order. After its return it must not
// use the slice or its bytes.
//
// A nil error says that every record of the batch is done. After any other error none counts as done, and the batch
// is delivered again. So effects must be idempotent. A handler returns soon after ctx is done, because the
// partition may be about to move to another consumer.
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
	// Publish returns nil when all replicas in sync hold every record. The records of one key keep their order in
	// msgs, and successive calls keep theirs. While the transport is unavailable it retries until ctx is done.
	// After an error each record may or may not have been written. A terminal error (fault.IsTerminal) says that a
	// record can never be published. Safe for concurrent use.
	Publish(ctx context.Context, msgs ...Message) error
	// Close releases the connections. Calls under way return an error.
	Close() error
}
