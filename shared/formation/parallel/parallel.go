// Package parallel divides the work on a long session. SaliMory's booster goes through a session turn by turn, and its
// authors name this as the limit: every turn waits for the decisions on the one before. Here chunks of the session are
// extracted in parallel. Candidates about the same subject form groups, and the groups are decided in parallel. Their
// verdicts are joined in an order that does not depend on the order of completion. Where groups do not interact, the
// result equals the result of one sequence over all candidates.
//
// Some interactions are visible only afterwards. Two groups' verdicts may be on the same entry of the bank, and one of
// them may end it. Both groups are then decided again as one.
package parallel

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/platform/config"
)

// Options are the sizes of the parts. A session within both is given to the former as a whole.
type Options struct {
	// ChunkTurns is how many turns are extracted at a time at most.
	ChunkTurns int `envDefault:"40"`
	// GroupCandidates is how many candidates are decided at a time. Candidates that belong together stay together, however
	// many they are. GroupCandidates: candidates decided at a time; of more, groups apart, concurrently.
	GroupCandidates int `envDefault:"40"`
	// Workers is how many parts of one session are worked on at once.
	Workers int `envDefault:"4"`
}

// DefaultOptions returns the settings that apply where nothing is set.
func DefaultOptions() Options { return Options{ChunkTurns: 40, GroupCandidates: 40, Workers: 4} }

// Validate reports every setting that is out of range.
func (o Options) Validate() error {
	return errors.Join(
		config.Require(o.ChunkTurns >= 1 && o.ChunkTurns <= 1000, "CHUNK_TURNS", o.ChunkTurns, "1 to 1000"),
		config.Require(o.GroupCandidates >= 1 && o.GroupCandidates <= 1000, "GROUP_CANDIDATES", o.GroupCandidates,
			"1 to 1000"),
		config.Require(o.Workers >= 1 && o.Workers <= 256, "WORKERS", o.Workers, "1 to 256"),
	)
}

// booster is a former that shares out the work of another.
type booster struct {
	inner    formation.Divisible
	division formation.Division
	options  Options
}

// New divides the work of a former as far as it is divisible, and returns any other former unchanged. The result is
// safe for concurrent use, as f is.
func New(f formation.Former, o Options) formation.Former {
	d, ok := f.(formation.Divisible)
	if !ok || d.Division() == (formation.Division{}) {
		return f
	}
	return &booster{inner: d, division: d.Division(), options: o}
}

// Version returns the version of the wrapped former: the division does not change the written entries.
func (b *booster) Version() string { return b.inner.Version() }

// Reads returns the value of the wrapped former.
func (b *booster) Reads() int {
	if r, ok := b.inner.(formation.Reader); ok {
		return r.Reads()
	}
	return 0
}

// Extract extracts a long session in chunks. An error of one is the error of all.
func (b *booster) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	if !b.division.Extract || len(in.Turns) <= b.options.ChunkTurns {
		return b.inner.Extract(ctx, in)
	}
	chunks := split(in, b.options.ChunkTurns)
	found := make([][]formation.Candidate, len(chunks))
	err := b.each(ctx, len(chunks), func(ctx context.Context, i int) error {
		candidates, err := b.inner.Extract(ctx, chunks[i].session)
		if err != nil {
			return fmt.Errorf("turns %d to %d: %w", chunks[i].first+1, chunks[i].end, err)
		}
		found[i] = chunks[i].own(candidates)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []formation.Candidate
	for _, candidates := range found {
		out = append(out, candidates...)
	}
	return out, nil
}

// Decide decides on many candidates in groups. An error of one is the error of all.
func (b *booster) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	if !b.division.Decide || len(in.Related) <= b.options.GroupCandidates {
		return b.inner.Decide(ctx, in)
	}
	bins := pack(groups(in), b.options.GroupCandidates)
	verdicts := make([]*formation.Verdict, len(bins))
	for {
		err := b.each(ctx, len(bins), func(ctx context.Context, i int) (err error) {
			if verdicts[i] == nil {
				verdicts[i], err = b.decide(ctx, in, bins[i])
			}
			return err
		})
		if err != nil {
			return formation.Verdict{}, err
		}
		joined := collisions(verdicts)
		if joined == nil {
			return unite(in.Session, verdicts), nil
		}
		bins, verdicts = regroup(bins, verdicts, joined)
	}
}

// decide decides on the candidates at the given positions, in their order.
func (b *booster) decide(ctx context.Context, in formation.Bundle, positions []int) (*formation.Verdict, error) {
	part := in
	part.Related = make([]formation.Related, len(positions))
	for i, p := range positions {
		part.Related[i] = in.Related[p]
	}
	v, err := b.inner.Decide(ctx, part)
	if err != nil {
		return nil, err
	}
	if len(v.Lookups) > 0 || len(v.Core) > 0 {
		return nil, fault.Terminal("division", "of a former that looks things up or keeps a core block; it cannot be "+
			"decided in groups")
	}
	return &v, nil
}

// each does n things, Options.Workers at a time; the first error ends it.
func (b *booster) each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.options.Workers)
	for i := range n {
		g.Go(func() error { return do(ctx, i) })
	}
	return g.Wait()
}
