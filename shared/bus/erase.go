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

// EraseConfig chooses which dead letters are erased.
type EraseConfig struct {
	// Match reports whether a record of the dead letters' topic is to be erased. dead is nil where the record cannot be decoded.
	Match func(key []byte, dead *mnemev1.DeadLetter) bool
	// Idle is the pause before the first further attempt, where a partition was in other hands; each is about twice as long as
	// the one before, up to MaxIdle. 0 is half a second and 15 s.
	Idle, MaxIdle time.Duration
}

// EraseDeadLetters removes the chosen dead letters from their topic for good, replayed ones too. A topic cannot lose
// single records, so those that wait and stay are appended again, unchanged, and the partition is cut off before them.
//
// join makes a membership in the group of the replay: a partition is in the hands of one member at a time, so no replay
// and no other erasure holds one meanwhile that it would put back. Those that were replayed before are cut off with the rest. An
// erasure that is interrupted may leave one dead letter per partition twice, and loses none. When it returns nil, a scan has found no
// chosen one; what arrives meanwhile may be left.
func EraseDeadLetters(
	ctx context.Context, cfg EraseConfig, join func() (Source, error), log Log, pub Publisher, ins *Instruments,
) (erased int, err error) {
	if cfg.Idle <= 0 {
		cfg.Idle = 500 * time.Millisecond
	}
	if cfg.MaxIdle <= 0 {
		cfg.MaxIdle = 15 * time.Second
	}
	e := &erasure{cfg: cfg, log: log}
	e.replay = replay{pub: pub, ins: ins, ends: make(map[Partition]int64), each: e.one}
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
			ins.log.WarnContext(ctx, "erasure of dead letters is interrupted and goes on", slog.Any("error", err))
		}
		// Every arrival takes the partitions out of the others' hands for a while: members that erase at once have to get out of step.
		Pause(ctx, time.Duration((0.5+rand.Float64())*float64(idle)))
	}
}

type erasure struct {
	replay
	cfg    EraseConfig
	log    Log
	erased int
}

// find returns the partitions that hold a chosen dead letter, and how many.
func (e *erasure) find(ctx context.Context) (map[int]int, error) {
	left := map[int]int{}
	err := ScanLog(ctx, e.log, func(m Message) {
		if e.chosen(m) {
			left[m.Partition]++
		}
	})
	return left, err
}

// member joins the group for one generation and clears what it is assigned, which it takes from left.
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
				return err
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
	if err := e.partition(ctx, gen, p, end); err != nil {
		return err
	}
	if err := gen.Commit(ctx, map[Partition]int64{p: end}); err != nil {
		return fmt.Errorf("commit erasure: %w", err)
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

// DecodeDeadLetter decodes a record of the dead letters' topic; nil where it is something else.
func DecodeDeadLetter(value []byte) *mnemev1.DeadLetter {
	dead := new(mnemev1.DeadLetter)
	if proto.Unmarshal(value, dead) != nil {
		return nil
	}
	return dead
}

// one keeps a waiting dead letter that stays.
func (e *erasure) one(ctx context.Context, m Message) error {
	if e.chosen(m) {
		return nil
	}
	return e.keep(ctx, m, &e.result.Kept)
}
