package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/mneme-memory/mneme/shared/fault"
)

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
