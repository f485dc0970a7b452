package recall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	evalformation "github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	bankinmem "github.com/mneme-memory/mneme/shared/store/bank/inmem"
	"github.com/mneme-memory/mneme/shared/store/transfer"
)

// observedPath is the path in the report when memories are formed from observations.
const observedPath = "this process: the file's own observations in the place of filter and extractor, decided by " +
	"the embedded policy, and imported into the services, which are asked as ever"

// Observed configures the formation of memories from a file's observations.
type Observed struct {
	// Former decides the operations for observations, by Strategy. It does not extract.
	Former   formation.Former
	Strategy string
	// Embedder makes the vectors. It should be the embedder of the services.
	Embedder embedding.Embedder
	// Import fills a user's empty bank from an export.
	Import func(ctx context.Context, user string, export io.Reader) error
}

// observe forms memories from the file's observations and imports them into the services.
func (r *run) observe(ctx context.Context) error {
	observed, repairs, err := dataset.Observations(r.Path)
	if err != nil {
		return err
	}
	r.logf("replaying observations in the place of an extractor; ids repaired %d, dropped %d", repairs.Repaired,
		repairs.Dropped)
	for _, s := range r.subjects {
		began := time.Now()
		if err := r.observeUser(ctx, s, observed[s.Scope.User]); err != nil {
			return fmt.Errorf("user %s: %w", s.Scope.User, err)
		}
		r.logf("formed %s from observations: %d sessions, %.1f s", s.Scope.User, len(s.Sessions), time.Since(began).Seconds())
	}
	return nil
}

func (r *run) observeUser(ctx context.Context, s *examined, observed map[string][]dataset.Observation) error {
	o := r.Observed
	store := bankinmem.New(o.Embedder.Dimension())
	p := evalformation.Pipeline{Former: replayed{o.Former, observed}, Strategy: o.Strategy, Embedder: o.Embedder,
		Bank: store}
	formed, err := p.Form(ctx, s.Subject)
	if err := errors.Join(err, formed.Complete()); err != nil {
		return err
	}
	var export bytes.Buffer
	if err := transfer.Export(ctx, store, s.Scope, o.Embedder.Model(), o.Embedder.Dimension(), &export); err != nil {
		return err
	}
	return o.Import(ctx, s.Scope.User, &export)
}

// replayed is a former that returns recorded observations as candidates.
type replayed struct {
	formation.Former
	bySession map[string][]dataset.Observation
}

// Extract returns the session's observations of the given turns. It drops an observation without turns, because it
// has no provenance.
func (f replayed) Extract(_ context.Context, in formation.Session) ([]formation.Candidate, error) {
	place := map[string]int{}
	for i, t := range in.Turns {
		place[t.ID] = i
	}
	var out []formation.Candidate
	for _, o := range f.bySession[in.ID] {
		sources := slices.Compact(slices.Sorted(slices.Values(o.Turns)))
		sources = slices.DeleteFunc(sources, func(id string) bool { _, here := place[id]; return !here })
		if len(sources) > 0 {
			out = append(out, formation.Candidate{Kind: memory.KindFact, Content: o.Text, Sources: sources})
		}
	}
	slices.SortStableFunc(out, func(a, b formation.Candidate) int { return place[a.Sources[0]] - place[b.Sources[0]] })
	formation.Number(out)
	return out, nil
}

// Version names the source of the entries.
func (f replayed) Version() string { return "observations, " + f.Former.Version() }
