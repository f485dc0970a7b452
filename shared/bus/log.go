package bus

import (
	"bytes"
	"context"
)

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
