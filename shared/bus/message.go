// Package bus moves records between Mneme's services: at least once, in order for each key.
//
// A Consumer takes records from a Source, the port to a transport (its adapter is package kafka). It passes batches
// of one key to a Handler, many keys at the same time, and commits the finished records. A Middleware surrounds a
// handler, for tracing, retries or dead letters. Standard builds the usual chain.
package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
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

// ErrRevoked says that a generation has ended: its partitions may belong to another member. It is also the cause of
// the context that handlers of that generation get.
var ErrRevoked = errors.New("bus: the partition was revoked")

// ErrClosed says that a source or publisher was used after Close.
var ErrClosed = fmt.Errorf("bus closed: %w", fault.ErrUnavailable)

// Partition names one partition of a topic.
type Partition struct {
	// Topic is the topic's name.
	Topic string
	// ID numbers the partition within its topic, from 0.
	ID int
}

// Fetched is the result of one fetch.
type Fetched struct {
	// Messages are in order and continue the fetch before. They are empty when none came in time.
	Messages []Message
	// End is the offset after the partition's last readable record.
	End int64
}

// Source is the port to a transport: one membership in a consumer group. bustest.Run checks the contract. A source
// serves one consumer.
type Source interface {
	// Next joins the group, or joins it again after the generation before has ended, and returns the new
	// generation. It waits for that generation's Release first. Most errors are temporary, and Next may be called
	// again. Terminal ones (fault.IsTerminal) say that the configuration can never work. ErrClosed is final too.
	Next(ctx context.Context) (Generation, error)
	// Close leaves the group, so that others take over at once. It ends and releases the current generation. A
	// member that leaves does not call Release before, because Release announces that it joins again. Close returns
	// within a few seconds even when the transport does not answer.
	Close() error
}

// Generation is the time between two rebalances. During it the group's partitions do not move. Its methods are safe
// for concurrent use, except for Fetch of one partition.
type Generation interface {
	// Partitions are the partitions assigned to this member. There may be none.
	Partitions() []Partition
	// Done is closed when the generation has ended.
	Done() <-chan struct{}
	// Fetch returns the next records of a partition. The first call starts at the group's committed offset. Without
	// a commit it starts at the oldest record. A member that begins at the end starts at the end that it found
	// first. It waits a moment for records, and returns none when none came. After an error the next call continues
	// at the same place. The source reconnects by itself. Do not call it concurrently for one partition.
	Fetch(ctx context.Context, p Partition) (Fetched, error)
	// End returns the offset after the partition's last readable record.
	End(ctx context.Context, p Partition) (int64, error)
	// Commit stores for each partition the offset of the next record to read. After Done it commits nothing and
	// returns ErrRevoked.
	Commit(ctx context.Context, offsets map[Partition]int64) error
	// Release says that all work on the generation has stopped, and the member is ready for the next one. It ends a
	// generation that has not ended, and frees the resources of Fetch. It is idempotent.
	Release()
}

// Log is the port to the stored partitions of a topic. A caller can read them from their beginning without a group,
// and cut off their beginning. bustest.Run checks the contract. It is safe for concurrent use.
type Log interface {
	// Partitions returns the numbers of the topic's partitions.
	Partitions(ctx context.Context) ([]int, error)
	// PartitionOf returns the number of the partition that holds the records of a key. The key is not empty.
	PartitionOf(ctx context.Context, key []byte) (int, error)
	// Bounds returns the offset of the oldest record and the offset after the last one. They are equal for an empty
	// partition.
	Bounds(ctx context.Context, partition int) (first, end int64, err error)
	// Read returns records from an offset on, in order, and the offset to read next. It returns at least one record
	// if there is one.
	Read(ctx context.Context, partition int, from int64) (msgs []Message, next int64, err error)
	// Cut removes all records before an offset, for every reader and for good. A second cut at the same offset
	// changes nothing.
	Cut(ctx context.Context, partition int, before int64) error
	// Retention returns how long the topic keeps records, in milliseconds. -1 means for ever, 0 means unknown.
	Retention(ctx context.Context) (int64, error)
	// Close releases the connections.
	Close() error
}

// ScanLog passes every record of a topic to see. It reads each partition from the oldest record to the end at its
// start.
func ScanLog(ctx context.Context, log Log, see func(Message)) error {
	return ScanLogFrom(ctx, log, nil, see)
}

// ScanLogFrom is ScanLog from the offsets in from. A partition without an offset there begins at the oldest record.
func ScanLogFrom(ctx context.Context, log Log, from map[int]int64, see func(Message)) error {
	partitions, err := log.Partitions(ctx)
	if err != nil {
		return err
	}
	for _, p := range partitions {
		first, end, err := log.Bounds(ctx, p)
		if err != nil {
			return err
		}
		if err := scan(ctx, log, p, max(first, from[p]), end, see); err != nil {
			return err
		}
	}
	return nil
}

// FindFrom reports whether is accepts a record of a key, which is not empty. It reads the partition of the key alone,
// from the offset that from has for it, or from the oldest record, and stops at the first such record.
func FindFrom(ctx context.Context, log Log, key []byte, from map[int]int64, is func(Message) bool) (bool, error) {
	p, err := log.PartitionOf(ctx, key)
	if err != nil {
		return false, err
	}
	first, end, err := log.Bounds(ctx, p)
	if err != nil {
		return false, err
	}
	return find(ctx, log, p, max(first, from[p]), end, func(m Message) bool { return bytes.Equal(m.Key, key) && is(m) })
}

func scan(ctx context.Context, log Log, partition int, from, end int64, see func(Message)) error {
	_, err := find(ctx, log, partition, from, end, func(m Message) bool { see(m); return false })
	return err
}

// find reports whether is accepts a record of a part of a partition. It stops at the first.
func find(ctx context.Context, log Log, partition int, from, end int64, is func(Message) bool) (bool, error) {
	for from < end {
		msgs, next, err := log.Read(ctx, partition, from)
		if err != nil {
			return false, err
		}
		for _, m := range msgs {
			if m.Offset < end && is(m) {
				return true, nil
			}
		}
		from = next
	}
	return false, nil
}
