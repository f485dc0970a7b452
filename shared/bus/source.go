package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/mneme-memory/mneme/shared/fault"
)

// ErrRevoked says that a generation has ended: its partitions may belong to another member.
// It is also the cause of the context that handlers of that generation see.
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

// Fetched is what one fetch brought.
type Fetched struct {
	// Messages are in order and adjoin those of the fetch before; empty when none came in time.
	Messages []Message
	// End is the offset after the partition's last readable record.
	End int64
}

// Source is the port to a transport: one membership in a consumer group. bustest.Run checks
// the contract. A source serves one consumer.
type Source interface {
	// Next joins the group, or joins it again after the generation before has ended, and returns
	// the new generation. It waits for that generation's Release first. Errors are temporary and
	// Next may be called again, except terminal ones (fault.IsTerminal), which say that the
	// configuration can never work, and ErrClosed.
	Next(ctx context.Context) (Generation, error)
	// Close leaves the group, so that others take over at once. It ends and releases the current
	// generation; a member that leaves does not call Release before, which announces that it
	// joins again. It returns within a few seconds even when the transport does not answer.
	Close() error
}

// Generation is the time between two rebalances, in which the group's partitions stay where
// they are. Its methods are safe for concurrent use, except for Fetch of one partition.
type Generation interface {
	// Partitions are those assigned to this member; possibly none.
	Partitions() []Partition
	// Done is closed when the generation has ended.
	Done() <-chan struct{}
	// Fetch returns the records of a partition after those it returned before; the first call
	// starts where the group has committed; where it has not, at the oldest record, or at the end that the
	// member found first if it was made to begin there. It waits a
	// moment for records to come, and returns none when none came. After an error the next call
	// goes on at the same place; the source reconnects by itself. Not concurrently for one partition.
	Fetch(ctx context.Context, p Partition) (Fetched, error)
	// End returns the offset after the partition's last readable record.
	End(ctx context.Context, p Partition) (int64, error)
	// Commit stores for each partition the offset of the next record to be read. After Done it
	// commits nothing and returns ErrRevoked.
	Commit(ctx context.Context, offsets map[Partition]int64) error
	// Release says that all work on the generation has stopped: the member is ready for the next
	// one. It ends the generation if that has not ended, and frees what Fetch holds. Idempotent.
	Release()
}
