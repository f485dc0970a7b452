package llm

import (
	"io/fs"

	"github.com/mneme-memory/mneme/shared/formation"
	model "github.com/mneme-memory/mneme/shared/model/llm"
)

// Pair is the two roles of a strategy: one reads the session, and one decides on the result. Formers embed it.
type Pair struct {
	Extractor, Manager Role

	strategy string
	related  int
}

// PairRole names a role of a pair, with its prompt and the schema of its answer (see Spec).
type PairRole struct {
	Role           model.Role
	Prompt, Schema string
}

// NewPair makes the roles of a strategy, with answers of types E and D. It returns the errors of NewRoles.
func NewPair[E, D any](
	client *model.Client, strategy string, prompts fs.FS, opts Options, extractor, manager PairRole,
) (Pair, error) {
	p := Pair{strategy: strategy, related: opts.Related}
	err := NewRoles(client, strategy, prompts, opts,
		Spec[E](&p.Extractor, extractor.Role, extractor.Prompt, extractor.Schema),
		Spec[D](&p.Manager, manager.Role, manager.Prompt, manager.Schema))
	return p, err
}

// Version is strategy, prompt versions and models.
func (p Pair) Version() string { return VersionOf(p.strategy, p.Extractor, p.Manager) }

// Division says that sessions can be extracted in parts and decided in groups.
func (Pair) Division() formation.Division { return formation.Division{Extract: true, Decide: true} }

// Reads is how many entries of the bank the extractor reads.
func (Pair) Reads() int { return readsOfBank }

// Input is the data of a decision, with the nearest memories of each candidate.
func (p Pair) Input(in formation.Bundle) (*DecisionInput, error) {
	return NewDecisionInput(Nearest(in, p.related))
}
