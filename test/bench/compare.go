package bench

import (
	"context"
	"fmt"
	"time"
)

// sample runs one measurement. i counts up, so that each run can differ.
type sample func(ctx context.Context, i int) (time.Duration, error)

// plan is the size of a measurement.
type plan struct {
	rounds int
	// each is the number of samples in a round, for both sides.
	each int
	// warm is the number of discarded samples before the first one.
	warm int
}

// sides are the measured figure and the baseline.
type sides struct{ ours, baseline float64 }

// latencies takes samples of ours and baseline alternately, and alternates the first one. The machine is shared, so a
// slowdown must affect both sides alike.
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

// rates runs the same amount of work (units a round) on both sides in turn and compares the rates per second.
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
		N: units * p.rounds, Rounds: p.rounds, Unit: unit, Rate: median(all), Baseline: median(bare),
		Ratio: ratioOfRounds(all, bare),
	}, nil
}

// until repeats a check, with a pause, until it returns true.
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

// patience limits every single wait. A longer wait means a fault, not a slow system.
const patience = 3 * time.Minute
