package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/fault"
)

// ReplayedHeader names the header that marks a replayed record. Its value is the identifier of the dead letter.
const ReplayedHeader = "mneme-replayed"

// ReplayConfig chooses the records to replay. Empty fields choose everything.
type ReplayConfig struct {
	// KeyPrefix chooses by the beginning of the record's key: "tenant/" or "tenant/user".
	KeyPrefix string
	// Handler chooses by the handler that gave up.
	Handler string
	// Idle is the pause before a retry of a source that failed. 0 is half a second.
	Idle time.Duration
}

// ReplayResult counts the results of a replay.
type ReplayResult struct {
	// Replayed counts records returned to their original topic.
	Replayed int
	// Kept counts letters that were not chosen. They wait for a later run.
	Kept int
	// Refused counts letters with a record that its topic can never accept. They wait too.
	Refused int
	// Unreadable counts records that are no dead letters of a version that this build knows. They wait too.
	Unreadable int
}

// Replay reads the dead letters from source, a membership in the replay's own group. It reads each assigned
// partition up to its end at the first look, and publishes the records to their original topics. It closes source.
//
// The group's offset moves past a dead letter only after the broker has acknowledged its record. An offset cannot
// leave gaps. So Replay appends a letter that stays to the dead letters again, unchanged, before the offset moves
// past it. A later run finds it there, and no letter is replayed twice because another one stayed. An interrupted
// replay may repeat one dead letter per partition.
func Replay(
	ctx context.Context, cfg ReplayConfig, source Source, pub Publisher, ins *Instruments,
) (result ReplayResult, err error) {
	if cfg.Idle <= 0 {
		cfg.Idle = 500 * time.Millisecond
	}
	r := &replay{cfg: cfg, pub: TracedPublisher(pub, ins), ins: ins, ends: make(map[Partition]int64)}
	r.each = r.one
	defer func() { err = errors.Join(err, source.Close()) }()
	for {
		if ctx.Err() != nil {
			return r.result, fmt.Errorf("replay: %w", ctx.Err())
		}
		gen, err := source.Next(ctx)
		if err == nil {
			var finished bool
			finished, err = r.generation(ctx, gen)
			if finished {
				return r.result, nil
			}
			gen.Release()
		}
		if err != nil && (fault.IsTerminal(err) || errors.Is(err, ErrClosed)) {
			return r.result, fmt.Errorf("replay: %w", err)
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, ErrRevoked) {
			ins.log.WarnContext(ctx, "resuming the interrupted replay", slog.Any("error", err))
			Pause(ctx, cfg.Idle)
		}
	}
}

type replay struct {
	cfg    ReplayConfig
	pub    Publisher
	ins    *Instruments
	ends   map[Partition]int64
	result ReplayResult
	// each handles every waiting dead letter.
	each func(ctx context.Context, m Message) error
}

// generation works through the assigned partitions. It reports whether all of them are at their ends. A generation
// that ends before that gives ErrRevoked, which is no error to report.
func (r *replay) generation(ctx context.Context, gen Generation) (bool, error) {
	ctx, cancel := untilRevoked(ctx, gen)
	defer cancel()
	for _, p := range gen.Partitions() {
		if _, ok := r.ends[p]; !ok {
			end, err := gen.End(ctx, p)
			if err != nil {
				return false, fmt.Errorf("find end of %s/%d: %w", p.Topic, p.ID, err)
			}
			r.ends[p] = end
		}
	}
	for _, p := range gen.Partitions() {
		if err := r.partition(ctx, gen, p, r.ends[p]); err != nil {
			return false, err
		}
	}
	return true, nil
}

// untilRevoked ends the context, with ErrRevoked as its cause, when the generation ends.
func untilRevoked(ctx context.Context, gen Generation) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-gen.Done():
			cancel(ErrRevoked)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// partition replays up to end. It also stops when no record is left to fetch, although it has not seen the last
// offset: compaction and transactions leave such gaps.
func (r *replay) partition(ctx context.Context, gen Generation, p Partition, end int64) error {
	if end == 0 {
		return nil
	}
	for {
		got, err := gen.Fetch(ctx, p)
		if err != nil {
			return fmt.Errorf("fetch dead letters: %w", err)
		}
		if len(got.Messages) == 0 && got.End >= end {
			return nil
		}
		for _, m := range got.Messages {
			if m.Offset >= end {
				return nil
			}
			if err := r.each(ctx, m); err != nil {
				return err
			}
			if err := gen.Commit(ctx, map[Partition]int64{p: m.Offset + 1}); err != nil {
				return fmt.Errorf("commit replay: %w", err)
			}
			if m.Offset+1 >= end {
				return nil
			}
		}
	}
}

// one puts the record of one dead letter back, or keeps the dead letter.
func (r *replay) one(ctx context.Context, m Message) error {
	dead := Replayable(m)
	if dead == nil {
		return r.requeue(ctx, m, &r.result.Unreadable)
	}
	if !r.chosen(dead) {
		return r.requeue(ctx, m, &r.result.Kept)
	}
	return r.putBack(ctx, m, dead)
}

// putBack publishes the record of a dead letter. It keeps the dead letter if the topic refuses the record.
func (r *replay) putBack(ctx context.Context, m Message, dead *mnemev1.DeadLetter) error {
	err := r.pub.Publish(ctx, original(dead))
	switch {
	case fault.IsTerminal(err):
		r.ins.log.WarnContext(ctx, "record cannot be replayed", slog.String("dead_letter", dead.Id), slog.Any("error", err))
		return r.requeue(ctx, m, &r.result.Refused)
	case err != nil:
		return fmt.Errorf("replay dead letter %s: %w", dead.Id, err)
	}
	r.result.Replayed++
	return nil
}

// Replayable decodes a dead letter as Replay does. It returns nil for a record that is no dead letter of a known
// version.
func Replayable(m Message) *mnemev1.DeadLetter {
	dead := DecodeDeadLetter(m.Value)
	if dead.GetSchemaVersion() != 1 || dead.GetTopic() == "" {
		return nil
	}
	return dead
}

// requeue appends a letter that was not replayed to the dead letters again.
func (r *replay) requeue(ctx context.Context, m Message, count *int) error {
	if err := r.pub.Publish(ctx, Message{Topic: m.Topic, Key: m.Key, Value: m.Value, Headers: m.Headers}); err != nil {
		return fmt.Errorf("keep dead letter: %w", err)
	}
	*count++
	return nil
}

func (r *replay) chosen(dead *mnemev1.DeadLetter) bool {
	return strings.HasPrefix(string(dead.Key), r.cfg.KeyPrefix) &&
		(r.cfg.Handler == "" || r.cfg.Handler == dead.Handler)
}

// original returns the record in a dead letter, marked as replayed.
func original(dead *mnemev1.DeadLetter) Message {
	var headers []Header
	for _, h := range dead.Headers {
		headers = append(headers, Header{Key: h.Key, Value: h.Value})
	}
	headers = slices.DeleteFunc(headers, func(h Header) bool { return h.Key == ReplayedHeader })
	headers = append(headers, Header{Key: ReplayedHeader, Value: []byte(dead.Id)})
	return Message{Topic: dead.Topic, Key: dead.Key, Value: dead.Value, Headers: headers}
}

// DeadLetters lists the dead letters that a Replay with the same choices and group would put back, in order within
// each partition. It changes nothing: it closes source without a commit. It omits the records that Replay could not
// read.
func DeadLetters(ctx context.Context, cfg ReplayConfig, source Source) (_ []*mnemev1.DeadLetter, err error) {
	defer func() { err = errors.Join(err, source.Close()) }()
	gen, err := source.Next(ctx)
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	defer gen.Release()
	chosen := (&replay{cfg: cfg}).chosen
	var out []*mnemev1.DeadLetter
	for _, p := range gen.Partitions() {
		end, err := gen.End(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("find end of %s/%d: %w", p.Topic, p.ID, err)
		}
		for next := int64(0); next < end; {
			got, err := gen.Fetch(ctx, p)
			if err != nil {
				return nil, fmt.Errorf("fetch dead letters: %w", err)
			}
			if len(got.Messages) == 0 {
				break // a replay has committed everything up to the end
			}
			for _, m := range got.Messages {
				next = m.Offset + 1
				if dead := Replayable(m); dead != nil && chosen(dead) {
					out = append(out, dead)
				}
			}
		}
	}
	return out, nil
}

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
