package deltamem

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	model "github.com/mneme-memory/mneme/shared/model/llm"
)

//go:embed prompts/*.tmpl
var prompts embed.FS

// LLM is the strategy by a language model. A session costs a call, and one more for every search of the bank. It is
// safe for concurrent use.
type LLM struct {
	agent  llm.Role
	bounds Bounds
}

var _ formation.Former = (*LLM)(nil)

// NewLLM makes the former with DefaultBounds. A prompt that does not work is an error here, not later.
func NewLLM(client *model.Client, opts llm.Options) (*LLM, error) {
	return NewLLMWithin(client, opts, DefaultBounds())
}

// NewLLMWithin is NewLLM with other bounds; those out of range are an error.
func NewLLMWithin(client *model.Client, opts llm.Options, bounds Bounds) (*LLM, error) {
	if err := bounds.Validate(); err != nil {
		return nil, err
	}
	f := &LLM{bounds: bounds}
	spec := llm.Spec[answer](&f.agent, model.RoleAgent, "deltamem-agent.v4", "mneme_deltamem_agent")
	return f, llm.NewRoles(client, Name, prompts, opts, spec)
}

// Version is strategy, prompt version and model.
func (f *LLM) Version() string { return llm.VersionOf(Name, f.agent) }

// Extract asks no model: it returns every turn that says something, to be held against nothing.
func (f *LLM) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	return searchTexts(in), nil
}

// Decide is one step of the agent. It asks the model once, and returns the model's searches or its final operations.
// One NONE has the turns without an operation.
func (f *LLM) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	s, err := resume(in, f.bounds)
	if err != nil || len(s.turns) == 0 {
		return formation.Verdict{}, err
	}
	var used model.Usage
	use := func(a answer) (next, error) { return s.readAnswer(a, f.Version()) }
	n, err := llm.Ask(model.WithUsage(ctx, &used), f.agent, in.Session.Scope, s.view(), len(s.turns), use)
	s.trail.Tokens.Input += used.InputTokens()
	s.trail.Tokens.Output += used.OutputTokens()
	s.trail.Steps = append(s.trail.Steps, n.step)
	report(ctx, len(s.trail.Steps), s.trail.searches(), s.trail.Tokens)
	if err != nil {
		return formation.Verdict{}, err
	}
	if len(n.step.Searches) == 0 {
		return formation.Verdict{Operations: n.operations, Failed: n.failed}, nil
	}
	memo, err := json.Marshal(s.trail)
	if err != nil {
		return formation.Verdict{}, fmt.Errorf("keep trail: %w", err)
	}
	out := formation.Verdict{Memo: memo}
	for _, q := range n.step.Searches {
		out.Lookups = append(out.Lookups, formation.Lookup{Text: q.Query, K: f.bounds.Found})
	}
	return out, nil
}
