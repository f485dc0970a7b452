package bus

import (
	"context"
	"errors"
	"fmt"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

// ErrHeld says that another member of the group holds the partition.
var ErrHeld = errors.New("bus: another consumer has the partition")

// OneLetter identifies the dead letter for ReplayOne.
type OneLetter struct {
	// Partition and Offset are the last known place of the letter.
	Partition int
	Offset    int64
	// Match reports whether a dead letter is this one. Several matches are copies of one letter. ReplayOne puts one
	// of them back, and no copy waits any more.
	Match func(key []byte, dead *mnemev1.DeadLetter) bool
}

// ReplayOne puts the record of one dead letter back on its original topic, as Replay does. It closes source, a
// membership in the replay's own group. It appends the letters that wait before it to the dead letters again,
// unchanged. So its time grows with their number.
//
// A result without Replayed and Refused says that the letter did not wait there any more. ErrHeld and ErrRevoked
// say that another member works on the partition. The caller must then find the letter's new place and try again.
// An interrupted call may repeat one letter.
func ReplayOne(
	ctx context.Context, one OneLetter, source Source, pub Publisher, ins *Instruments,
) (result ReplayResult, err error) {
	defer func() { err = errors.Join(err, source.Close()) }()
	gen, err := source.Next(ctx)
	if err != nil {
		return ReplayResult{}, fmt.Errorf("replay one: %w", err)
	}
	ctx, cancel := untilRevoked(ctx, gen)
	defer cancel()
	r := &replay{pub: TracedPublisher(pub, ins), ins: ins}
	r.each = func(ctx context.Context, m Message) error { return r.onlyOne(ctx, m, one) }
	for _, p := range gen.Partitions() {
		if p.ID != one.Partition {
			continue
		}
		if err := r.partition(ctx, gen, p, one.Offset+1); err != nil {
			return r.result, fmt.Errorf("replay one: %w", errors.Join(context.Cause(ctx), err))
		}
		return r.result, nil
	}
	return ReplayResult{}, ErrHeld
}

// onlyOne puts the letter back the first time, and keeps all others.
func (r *replay) onlyOne(ctx context.Context, m Message, one OneLetter) error {
	dead := Replayable(m)
	switch {
	case dead == nil:
		return r.requeue(ctx, m, &r.result.Unreadable)
	case !one.Match(m.Key, dead):
		return r.requeue(ctx, m, &r.result.Kept)
	case r.result.Replayed > 0:
		return nil
	}
	return r.putBack(ctx, m, dead)
}
