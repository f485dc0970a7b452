package salimory

import (
	"context"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
)

// Embedded is the strategy without a model server. It is safe for concurrent use.
type Embedded struct{ rules *embedded.Former }

var _ formation.Former = (*Embedded)(nil)

// NewEmbedded makes the former; it takes some milliseconds to load the sentence model.
func NewEmbedded() *Embedded { return &Embedded{rules: embedded.NewFormer(embedded.IdentityOf(Name))} }

// Version is name and version of strategy and policy.
func (f *Embedded) Version() string { return f.rules.Version() }

// Extract returns what the salient turns say, turn by turn.
func (f *Embedded) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	return f.rules.Extract(ctx, in)
}

// Decide reconciles the candidates with F and P, and clears W of what is stale.
func (f *Embedded) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	lasting, passing := split(in)
	verdict, err := f.rules.Decide(ctx, lasting)
	if err != nil {
		return formation.Verdict{}, err
	}
	verdict.Operations = append(verdict.Operations, passing...)
	verdict.Retire = stale(in.Window, in.Session)
	return verdict, nil
}
