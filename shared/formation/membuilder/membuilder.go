// Package membuilder forms memory as MemBuilder does (multi-dimensional memory, section 3.2). Four roles work on a
// session in parallel, each with a separate kind of memory. The core role keeps one block about the user, which is
// always in view. The episodic role keeps a diary of dated events. The semantic role keeps knowledge of the people,
// places and things of the user's life. The procedural role keeps methods. An update is a new version that names the
// one before it, and never deletes it.
package membuilder

import (
	"context"
	"embed"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/text"
)

// Name is the strategy's name.
const Name = "membuilder"

// compressTo is the upper limit of a compressed core block, in characters (MemBuilder, Appendix H). The block must be
// shorter.
const compressTo = 3000

// maxCueBytes is how much of a turn is searched for in the bank: about what embedding models read.
const maxCueBytes = 2 << 10

// Reasons of operations; they hold no conversation text.
const (
	reasonKnown = "already known"
	reasonRange = "repeated: one entry for the range of time"
	reasonSteps = "the procedure as it is now"
)

// kinds are the kinds of a role's entries, with the kind of new ones first. Other strategies write facts and
// preferences. Both are knowledge of the user's world, so the semantic role has them.
var (
	episodicKinds   = []memory.Kind{memory.KindEpisodic}
	semanticKinds   = []memory.Kind{memory.KindSemantic, memory.KindFact, memory.KindPreference}
	proceduralKinds = []memory.Kind{memory.KindProcedural}
)

// searchTexts returns the search texts for the bank: every turn in its original words.
func searchTexts(in formation.Session) []formation.Candidate {
	out := make([]formation.Candidate, 0, len(in.Turns))
	for _, t := range in.Turns {
		text := cueOf(t)
		if text == "" {
			continue
		}
		out = append(out, formation.Candidate{Kind: memory.KindEpisodic, Content: text, Sources: []string{t.ID}})
	}
	return out
}

// cueOf returns a turn in one line, cut to the length that an embedding reads.
func cueOf(t memory.Turn) string {
	said := text.OneLine(t.Text + " " + t.Caption)
	if speaker := text.OneLine(t.Speaker); said != "" && speaker != "" {
		said = speaker + ": " + said
	}
	return text.Cut(said, maxCueBytes)
}

//go:embed prompts/*.tmpl
var prompts embed.FS

// LLM is the strategy by a language model: four parallel calls a session, and one or two more when the core block
// needs compression. It is safe for concurrent use.
type LLM struct {
	core, episodic, semantic, procedural, compress llm.Role
}

var _ formation.Former = (*LLM)(nil)

// NewLLM makes the former. A prompt that does not work is an error here, not later.
func NewLLM(client *model.Client, opts llm.Options) (*LLM, error) {
	f := &LLM{}
	err := llm.NewRoles(client, Name, prompts, opts,
		llm.Spec[coreAnswer](&f.core, model.RoleCore, "membuilder-core.v4", "mneme_membuilder_core"),
		llm.Spec[events](&f.episodic, model.RoleEpisodic, "membuilder-episodic.v4", "mneme_membuilder_episodic"),
		llm.Spec[concepts](&f.semantic, model.RoleSemantic, "membuilder-semantic.v4", "mneme_membuilder_semantic"),
		llm.Spec[procedures](&f.procedural, model.RoleProcedural, "membuilder-procedural.v4", "mneme_membuilder_procedural"),
		llm.Spec[compressed](&f.compress, model.RoleCore, "membuilder-compress.v3", "mneme_membuilder_compress"))
	return f, err
}

// Version is strategy, prompt versions and models.
func (f *LLM) Version() string {
	return llm.VersionOf(Name, f.core, f.episodic, f.semantic, f.procedural, f.compress)
}

// Extract asks no model: it returns every turn as a search text for the bank.
func (f *LLM) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("extract search texts: %w", err)
	}
	return searchTexts(in), nil
}

// Decide asks the four roles side by side. The operations are in a fixed order - episodic, semantic, procedural -
// whichever answered first. When one role fails as a whole, the session fails, and is asked again.
func (f *LLM) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	d, err := newRoleInput(in, f.Version())
	if err != nil || len(d.turns) == 0 {
		return formation.Verdict{}, err
	}
	var (
		core []memory.CoreOperation
		done [3]entries
	)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		core, err = f.block(gctx, d)
		return err
	})
	g.Go(func() (err error) {
		done[0], err = askEntries[events](gctx, f.episodic, d, episodicKinds, 0, len(done))
		return err
	})
	g.Go(func() (err error) {
		done[1], err = askEntries[concepts](gctx, f.semantic, d, semanticKinds, 1, len(done))
		return err
	})
	g.Go(func() (err error) {
		done[2], err = askEntries[procedures](gctx, f.procedural, d, proceduralKinds, 2, len(done))
		return err
	})
	if err := g.Wait(); err != nil {
		return formation.Verdict{}, err
	}
	verdict := formation.Verdict{Core: core}
	for _, e := range done {
		verdict.Operations, verdict.Failed = append(verdict.Operations, e.operations...), append(verdict.Failed, e.failed...)
	}
	return verdict, nil
}
