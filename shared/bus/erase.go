package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"google.golang.org/protobuf/proto"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/fault"
)

// EraseConfig chooses the dead letters to erase.
type EraseConfig struct {
	// Match reports whether to erase a record of the dead letters' topic. The argument dead is nil for a record
	// that cannot be decoded.
	Match func(key []byte, dead *mnemev1.DeadLetter) bool
	// Idle is the pause before the first retry, when another member held a partition. Each pause is about twice as
	// long as the one before, up to MaxIdle. The defaults, for 0, are half a second and 15 s.
	Idle, MaxIdle time.Duration
}

// EraseDeadLetters removes the chosen dead letters from their topic for good, replayed ones too. A topic cannot
// lose single records. So it appends the waiting letters that stay again, unchanged, and cuts the partition off
// before them.
//
// The function join makes a membership in the group of the replay. One member at a time holds a partition. So no
// replay and no other erasure holds a letter meanwhile that it would put back. The cut also removes letters that
// were replayed before. Each interrupted try may leave the letters of one fetch per partition again, and loses
// none. When it returns nil, a scan has found no chosen letter. Letters that arrive during the erasure may stay.
func EraseDeadLetters(
	ctx context.Context, cfg EraseConfig, join func() (Source, error), log Log, pub Publisher, ins *Instruments,
) (erased int, err error) {
	if cfg.Idle <= 0 {
		cfg.Idle = 500 * time.Millisecond
	}
	if cfg.MaxIdle <= 0 {
		cfg.MaxIdle = 15 * time.Second
	}
	e := &erasure{cfg: cfg, log: log, pub: pub}
	for idle := cfg.Idle; ; idle = min(2*idle, cfg.MaxIdle) {
		left, err := e.find(ctx)
		if err == nil && len(left) == 0 {
			return e.erased, nil
		}
		if err == nil {
			if err = e.member(ctx, join, left); err == nil && len(left) == 0 {
				continue // the scan that proves it comes at once
			}
		}
		if ctx.Err() != nil {
			return e.erased, fmt.Errorf("erase dead letters: %w", errors.Join(ctx.Err(), err))
		}
		if fault.IsTerminal(err) {
			return e.erased, fmt.Errorf("erase dead letters: %w", err)
		}
		if err != nil && !errors.Is(err, ErrRevoked) {
			ins.log.WarnContext(ctx, "resuming the interrupted erasure of dead letters", slog.Any("error", err))
		}
		// Each new member briefly takes the partitions from the others. A random pause keeps concurrent erasures
		// out of step.
		Pause(ctx, time.Duration((0.5+rand.Float64())*float64(idle)))
	}
}

type erasure struct {
	cfg    EraseConfig
	log    Log
	pub    Publisher
	erased int
}

// find returns the partitions that contain a chosen dead letter, and the number of letters in each.
func (e *erasure) find(ctx context.Context) (map[int]int, error) {
	left := map[int]int{}
	err := ScanLog(ctx, e.log, func(m Message) {
		if e.chosen(m) {
			left[m.Partition]++
		}
	})
	return left, err
}

// member joins the group for one generation and clears its assigned partitions. It removes them from left.
func (e *erasure) member(ctx context.Context, join func() (Source, error), left map[int]int) (err error) {
	source, err := join()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	gen, err := source.Next(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := untilRevoked(ctx, gen)
	defer cancel()
	for _, p := range gen.Partitions() {
		if left[p.ID] > 0 {
			if err := e.clear(ctx, gen, p); err != nil {
				return errors.Join(context.Cause(ctx), err)
			}
			delete(left, p.ID)
		}
	}
	return nil
}

// clear rewrites a partition.
func (e *erasure) clear(ctx context.Context, gen Generation, p Partition) error {
	first, end, err := e.log.Bounds(ctx, p.ID)
	if err != nil {
		return err
	}
	found := 0
	err = scan(ctx, e.log, p.ID, first, end, func(m Message) {
		if e.chosen(m) {
			found++
		}
	})
	if err != nil || found == 0 {
		return err
	}
	if err := e.requeueRest(ctx, gen, p, end); err != nil {
		return err
	}
	if err := e.log.Cut(ctx, p.ID, end); err != nil {
		return err
	}
	e.erased += found
	return nil
}

func (e *erasure) chosen(m Message) bool {
	return e.cfg.Match(m.Key, DecodeDeadLetter(m.Value))
}

// DecodeDeadLetter decodes a record of the dead letters' topic. It returns nil for another record.
func DecodeDeadLetter(value []byte) *mnemev1.DeadLetter {
	dead := new(mnemev1.DeadLetter)
	if proto.Unmarshal(value, dead) != nil {
		return nil
	}
	return dead
}

// requeueRest appends the waiting letters before end that stay, and commits end. It publishes and commits once per
// fetch: a partition is done before the next member of the group takes it.
func (e *erasure) requeueRest(ctx context.Context, gen Generation, p Partition, end int64) error {
	for next := int64(0); next < end; {
		got, err := gen.Fetch(ctx, p)
		if err != nil {
			return fmt.Errorf("fetch dead letters: %w", err)
		}
		if len(got.Messages) == 0 && got.End < end {
			continue
		}
		var stay []Message
		next = end // an empty fetch: compaction and transactions leave no last record
		for _, m := range got.Messages {
			if next = m.Offset + 1; m.Offset >= end {
				break
			}
			if !e.chosen(m) {
				stay = append(stay, Message{Topic: m.Topic, Key: m.Key, Value: m.Value, Headers: m.Headers})
			}
		}
		if len(stay) > 0 {
			if err := e.pub.Publish(ctx, stay...); err != nil {
				return fmt.Errorf("keep dead letters: %w", err)
			}
		}
		if err := gen.Commit(ctx, map[Partition]int64{p: min(next, end)}); err != nil {
			return fmt.Errorf("commit erasure: %w", err)
		}
	}
	return nil
}
