package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/mneme-memory/mneme/shared/memory"
)

// windowPoll is the pause between two checks of W. It is short enough for the figure and long enough to keep the
// machine free.
const windowPoll = 200 * time.Microsecond

// visible measures the time from the publication of a salient turn until W contains it. The baseline is one record
// through the bare bus and one append to W.
func visible(ctx context.Context, b *bench) (row Row, err error) {
	baseline, err := openBareBus(ctx, b.system, 1)
	if err != nil {
		return Row{}, err
	}
	defer func() { err = errors.Join(err, baseline.Close()) }()
	p := b.scaled(plan{rounds: 5, each: 60, warm: 20})
	row, err = latencies(ctx, p, b.profiled("visible", b.publishAndSee),
		func(ctx context.Context, i int) (time.Duration, error) {
			scope, turn := b.oneTurn("bare", i)
			msgs, err := events(scope, []memory.Turn{turn})
			if err != nil {
				return 0, err
			}
			began := time.Now()
			if err := baseline.pass(ctx, bare(msgs)); err != nil {
				return 0, err
			}
			err = b.window.Append(ctx, scope, []memory.Turn{turn})
			return time.Since(began), err
		})
	row.What, row.BaselineWhat = "salient turn published -> in W", "1 record + 1 append"
	row.judge(faster(10))
	return row, err
}

func (b *bench) publishAndSee(ctx context.Context, i int) (time.Duration, error) {
	scope, turn := b.oneTurn("seen", i)
	msgs, err := events(scope, []memory.Turn{turn})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := b.busClient.Publisher.Publish(ctx, msgs...); err != nil {
		return 0, err
	}
	err = until(ctx, windowPoll, "the turn in W", func(ctx context.Context) (bool, error) {
		return b.inWindow(ctx, scope, turn.ID)
	})
	return time.Since(began), err
}

// oneTurn returns a new turn of one of several users.
func (b *bench) oneTurn(of string, i int) (memory.Scope, memory.Turn) {
	session := fmt.Sprintf("%s-%s", of, uuid.NewString())
	return b.scope(fmt.Sprintf("bench-%s-%d", of, i%50)), b.turns(session, 1)[0]
}
