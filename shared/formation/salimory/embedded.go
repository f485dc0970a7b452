package salimory

import (
	"context"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/moment"
)

// Embedded is the strategy without a model server. It is safe for concurrent use.
type Embedded struct{ *embedded.Former }

var _ formation.Divisible = (*Embedded)(nil)

// NewEmbedded makes the former; it takes some milliseconds to load the models.
func NewEmbedded() *Embedded { return &Embedded{embedded.NewFormer(embedded.IdentityOf(Name))} }

// Deciding returns the strategy with another chooser. The chooser's version follows the strategy's version.
func (f *Embedded) Deciding(choose decision.Chooser, version string) *Embedded {
	return &Embedded{f.Former.Deciding(choose, version)}
}

// Extract quotes the session, and routes statements of the moment to W.
func (f *Embedded) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	out, err := f.Former.Extract(ctx, in)
	position := in.Positions()
	for i, c := range out {
		if at, ok := position[c.Sources[0]]; ok {
			out[i].Working = moment.Passes(c, in.Turns[at].Time, f.Chooser())
		}
	}
	return out, err
}

// Decide reconciles the candidates with F and P, and removes stale turns from W.
func (f *Embedded) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	lasting, passing := split(in)
	verdict, err := f.Former.Decide(ctx, lasting)
	if err != nil {
		return formation.Verdict{}, err
	}
	verdict.Retire = stale(in.Window, in.Session)
	return passing.addTo(verdict), nil
}

// Division says that sessions can be extracted in parts and decided in groups.
func (f *Embedded) Division() formation.Division {
	return formation.Division{Extract: true, Decide: true}
}
