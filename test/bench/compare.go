package bench

import (
	"context"
	"fmt"
	"time"
)

// sample measures one thing once. i counts up; a thing may use it to be different each time.
type sample func(ctx context.Context, i int) (time.Duration, error)

// plan is how much is measured.
type plan struct {
	rounds int
	// each is how many samples a round has, of both sides.
	each int
	// warm is how many samples before the first are thrown away.
	warm int
}

// sides are the figures of measured and baseline.
type sides struct{ ours, baseline float64 }

// latencies takes samples of ours and baseline in turns, the first of the two changing, because the machine is shared
// and whatever slows it must slow both alike.
func latencies(ctx context.Context, p plan, ours, baseline sample) (Row, error) {
	var all, bare, perRound, barePerRound []float64
	next := 0
	for range p.warm {
		if _, err := both(ctx, next, ours, baseline); err != nil {
			return Row{}, err
		}
		next++
	}
	for range p.rounds {
		for range p.each {
			took, err := both(ctx, next, ours, baseline)
			if err != nil {
				return Row{}, err
			}
			all, bare = append(all, took.ours), append(bare, took.baseline)
			next++
		}
		perRound = append(perRound, median(all[len(all)-p.each:]))
		barePerRound = append(barePerRound, median(bare[len(bare)-p.each:]))
	}
	return Row{
		N: len(all), Rounds: p.rounds, Unit: unitMilliseconds, P50: percentile(all, 0.5), P99: percentile(all, 0.99),
		Baseline: percentile(bare, 0.5), BaselineP99: percentile(bare, 0.99), Ratio: ratioOfRounds(perRound, barePerRound),
	}, nil
}

// both takes one sample of each side.
func both(ctx context.Context, i int, ours, baseline sample) (sides, error) {
	var out sides
	one := func(name string, s sample, into *float64) error {
		took, err := s(ctx, i)
		if err != nil {
			return fmt.Errorf("%s, sample %d: %w", name, i, err)
		}
		*into = milliseconds(took)
		return nil
	}
	if i%2 == 1 {
		if err := one("baseline", baseline, &out.baseline); err != nil {
			return out, err
		}
		return out, one("measured", ours, &out.ours)
	}
	if err := one("measured", ours, &out.ours); err != nil {
		return out, err
	}
	return out, one("baseline", baseline, &out.baseline)
}

// rates has each side do the same amount of work (units a round) in turns and compares how much they did a second.
func rates(ctx context.Context, p plan, units int, unit string, ours, baseline sample) (Row, error) {
	var all, bare []float64
	for i := range p.warm + p.rounds {
		took, err := both(ctx, i, ours, baseline)
		if err != nil {
			return Row{}, err
		}
		if i >= p.warm {
			all = append(all, float64(units)/took.ours*1000)
			bare = append(bare, float64(units)/took.baseline*1000)
		}
	}
	return Row{
		N: units * p.rounds, Rounds: p.rounds, Unit: unit, Rate: median(all), Baseline: median(bare), Ratio: ratioOfRounds(all, bare),
	}, nil
}

// until asks again and again, with a pause, until the answer is yes.
func until(ctx context.Context, pause time.Duration, what string, ask func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		ok, err := ask(ctx)
		if err != nil || ok {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
}

// patience bounds every single wait: what takes longer is broken, not slow.
const patience = 3 * time.Minute
