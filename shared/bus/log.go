package bus

import (
	"bytes"
	"context"
)

// Log is the port to a topic as what it is kept as: partitions that can be read from their beginning, by no group, and cut
// off there. bustest.Run checks the contract. It is safe for concurrent use.
type Log interface {
	// Partitions returns the numbers of the topic's partitions.
	Partitions(ctx context.Context) ([]int, error)
	// PartitionOf returns the number of the partition that holds the records of a key, which is not empty.
	PartitionOf(ctx context.Context, key []byte) (int, error)
	// Bounds returns the offset of the oldest record and the offset after the last one; equal when there is none.
	Bounds(ctx context.Context, partition int) (first, end int64, err error)
	// Read returns records from an offset on, in order, at least one where there is any, and where to read on.
	Read(ctx context.Context, partition int, from int64) (msgs []Message, next int64, err error)
	// Cut removes all records before an offset, for every reader and for good. Cutting where it was cut before changes nothing.
	Cut(ctx context.Context, partition int, before int64) error
	// Retention returns how long the topic keeps records, in milliseconds; -1 is for ever, 0 that it is not known.
	Retention(ctx context.Context) (int64, error)
	// Close releases the connections.
	Close() error
}

// ScanLog hands every record of a topic to see, from the oldest to where each partition ended when it was first looked at.
func ScanLog(ctx context.Context, log Log, see func(Message)) error {
	return ScanLogFrom(ctx, log, nil, see)
}

// ScanLogFrom is ScanLog that begins in each partition at the offset that from has for it, and at the oldest record where it has none.
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

// FindFrom reports whether is accepts a record of a key, which is not empty. It reads the partition of the key alone, from the
// offset that from has for it, or from the oldest record, and stops at the first such record.
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
