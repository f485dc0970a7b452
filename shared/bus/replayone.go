package bus

import (
	"context"
	"errors"
	"fmt"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

// ErrHeld says that a partition is in the hands of another member of the group.
var ErrHeld = errors.New("bus: the partition is in other hands")

// OneLetter says which dead letter ReplayOne puts back.
type OneLetter struct {
	// Partition and Offset are where the letter was seen last.
	Partition int
	Offset    int64
	// Match reports whether a dead letter is it. Several that match are one that is there several times: one of them is put back, and
	// none of them waits any more.
	Match func(key []byte, dead *mnemev1.DeadLetter) bool
}

// ReplayOne puts the record of one dead letter back on the topic that it came from, as Replay does; it closes source, a membership in the
// replay's own group. The other letters of the partition that wait before it are appended to the dead letters again, unchanged, so that it
// takes time in proportion to them.
//
// A result without a Replayed or Refused says that the letter did not wait there any more. ErrHeld, and ErrRevoked, say that somebody else
// works on the partition: look again where the letter is, and try again. What is interrupted may repeat the one letter that it was at.
func ReplayOne(ctx context.Context, one OneLetter, source Source, pub Publisher, ins *Instruments) (result ReplayResult, err error) {
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
		return r.keep(ctx, m, &r.result.Unreadable)
	case !one.Match(m.Key, dead):
		return r.keep(ctx, m, &r.result.Kept)
	case r.result.Replayed > 0:
		return nil
	}
	return r.putBack(ctx, m, dead)
}
