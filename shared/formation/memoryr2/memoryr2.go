// Package memoryr2 forms memory as Memory-R2 does (its appendix B). An extractor writes atomic facts with their source
// turns. A manager compares each fact with the few nearest memories of the same speaker. It inserts, updates, deletes
// or leaves them alone. The checks have this order: contradiction, equivalent, refinement, new. Facts are monotonic: an
// update keeps every claim of the replaced entry. An update that drops a name, a number or a date is refused (Dropped).
package memoryr2

import (
	"context"
	"embed"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	model "github.com/mneme-memory/mneme/shared/model/llm"
)

// Name is the strategy's name.
const Name = "memory-r2"

// Limits of a manager's call. The first three are the paper's.
const (
	// relatedEach is the most memories to compare with a fact: the nearest ones of its speaker among
	// formation.MaxNeighbours.
	relatedEach = 5
	// leastSimilarity is the cosine from which a memory is related to a fact.
	leastSimilarity = 0.1
	// relatedOverall is how many memories one call is shown.
	relatedOverall = 25
	// factsPerCall is the most facts of one call. More facts are decided in groups, in order. Each group sees the
	// entries of the groups before it, without the closed ones, so that the result equals one long list.
	factsPerCall = 40
)

// chunkCharacters is the most text of one extractor call, in characters. A session of sixty turns of ordinary length
// fits. The chunks of a longer one are extracted in parallel, at most chunksAtOnce of them.
const (
	chunkCharacters = 24_000
	chunksAtOnce    = 4
)

//go:embed prompts/*.tmpl
var prompts embed.FS

// LLM is the strategy by a language model. In an ordinary session, one call extracts the facts and one decides on
// them. It is safe for concurrent use.
type LLM struct{ llm.Pair }

var _ formation.Divisible = (*LLM)(nil)

// NewLLM makes the former. A prompt that does not work is an error here, not later.
func NewLLM(client *model.Client, opts llm.Options) (*LLM, error) {
	p, err := llm.NewPair[extraction, edits](client, Name, prompts, opts,
		llm.PairRole{Role: model.RoleFacts, Prompt: "memory-r2-facts.v4", Schema: "mneme_memory_r2_facts"},
		llm.PairRole{Role: model.RoleFactManager, Prompt: "memory-r2-fact-manager.v4",
			Schema: "mneme_memory_r2_fact_manager"})
	return &LLM{p}, err
}

// Division says that facts can be decided in groups. They are extracted in chunks of text already.
func (f *LLM) Division() formation.Division { return formation.Division{Decide: true} }

// extraction is the extractor's answer. That there are no facts has to be said in so many words.
type extraction struct {
	Nothing bool            `json:"nothing" desc:"true when the turns hold no fact, and then facts is empty"`
	Facts   []llm.Statement `json:"facts"`
}

// Extract asks for the facts of each chunk of the session, in parallel. An empty result means that the model reports
// every chunk as empty.
func (f *LLM) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	chunks := chunked(in)
	found := make([][]formation.Candidate, len(chunks))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(chunksAtOnce)
	for i, chunk := range chunks {
		g.Go(func() (err error) {
			found[i], err = f.extract(gctx, chunk)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var out []formation.Candidate
	for _, list := range found {
		out = append(out, list...)
	}
	return out, nil
}

func (f *LLM) extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	of := func(a extraction) (bool, []llm.Statement) { return a.Nothing, a.Facts }
	return llm.Extract(ctx, f.Extractor, in, of, func(s llm.Statement) (formation.Candidate, int, error) {
		return s.Candidate(in.Turns)
	})
}

// chunked splits a session into runs of turns of at most chunkCharacters each, with the context around them. A turn is
// never split.
func chunked(in formation.Session) []formation.Session {
	var out []formation.Session
	add := func(first, end int) {
		part := in
		part.Turns, part.Context = in.Turns[first:end], in.Around(first, end)
		out = append(out, part)
	}
	first, characters := 0, 0
	for i, t := range in.Turns {
		n := utf8.RuneCountInString(t.Text) + utf8.RuneCountInString(t.Caption)
		if i > first && characters+n > chunkCharacters {
			add(first, i)
			first, characters = i, 0
		}
		characters += n
	}
	if first < len(in.Turns) {
		add(first, len(in.Turns))
	}
	return out
}

// Decide asks for the effect of the facts on the bank, group by group. Without facts it makes no call.
func (f *LLM) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	s := &session{in: in, closed: map[string]bool{}}
	var failed []formation.Failure
	for first := 0; first < len(in.Related); first += factsPerCall {
		group := s.group(in.Related[first:min(first+factsPerCall, len(in.Related))])
		v, err := f.decide(ctx, group)
		if err != nil {
			return formation.Verdict{}, err
		}
		s.add(group, v.Operations)
		failed = append(failed, v.Failed...)
	}
	return formation.Verdict{Operations: s.operations, Failed: failed}, nil
}

func (f *LLM) decide(ctx context.Context, group formation.Bundle) (formation.Verdict, error) {
	input, err := llm.NewDecisionInput(group)
	if err != nil {
		return formation.Verdict{}, err
	}
	return llm.Ask(ctx, f.Manager, group.Session.Scope, input, len(group.Related),
		func(a edits) (formation.Verdict, error) {
			return a.operations(input, group, llm.Identity{Strategy: Name, PolicyVersion: f.Version()})
		})
}
