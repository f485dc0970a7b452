package deltamem

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
)

// Embedded is the strategy without a model server. It quotes the session, a rule chooses the searches, and the learned
// relation decides on the results. It is safe for concurrent use.
type Embedded struct{ *embedded.Former }

var _ formation.Divisible = (*Embedded)(nil)

// NewEmbedded makes the former; it takes some milliseconds to load the models.
func NewEmbedded() *Embedded { return &Embedded{embedded.NewFormer(embedded.IdentityOf(Name))} }

// Division says that a session can be read in parts. It is decided as a whole, because decisions look things up.
func (f *Embedded) Division() formation.Division { return formation.Division{Extract: true} }

// Extract returns the statements of the salient turns, in order, without a search.
func (f *Embedded) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	statements, err := f.Former.Extract(ctx, in)
	for i := range statements {
		statements[i].Neighbours = formation.NoNeighbours
	}
	return statements, err
}

// spent is the memo of the embedded agent. It has no searches, since they follow from the statements.
type spent struct {
	Steps    int `json:"steps"`
	Searches int `json:"searches"`
}

// Decide returns the statements' lookups first, and decides when it has the results.
func (f *Embedded) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	if err := ctx.Err(); err != nil {
		return formation.Verdict{}, err
	}
	probes := probesFor(in.Related)
	if len(probes) > 0 && in.Found == nil {
		return ask(ctx, probes)
	}
	if len(in.Found) != len(probes) {
		return formation.Verdict{}, fault.Terminal("bundle.found", "has %d results, want the results of %d lookups",
			len(in.Found), len(probes))
	}
	report(ctx, 1+min(1, len(probes)), len(probes), tokens{})
	view := in
	view.Related = slices.Clone(in.Related)
	for i, p := range probes {
		for _, at := range p.statements {
			view.Related[at].Memories, view.Related[at].Similarity = in.Found[i].Memories, in.Found[i].Similarity
		}
	}
	return f.Former.Decide(ctx, view)
}

func ask(ctx context.Context, probes []probe) (formation.Verdict, error) {
	memo, err := json.Marshal(spent{Steps: 1, Searches: len(probes)})
	if err != nil {
		return formation.Verdict{}, err
	}
	report(ctx, 1, len(probes), tokens{})
	out := formation.Verdict{Memo: memo}
	for _, p := range probes {
		out.Lookups = append(out.Lookups, formation.Lookup{Text: p.text, K: foundEach})
	}
	return out, nil
}
