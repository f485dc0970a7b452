// Package deltamem forms memory as DeltaMem does (arXiv:2604.01560, section 3.1). One agent reads a session and
// searches the bank where it expects related memories. It ends with a list of operations: add, update, or none. Most
// facts about people never change. The agent therefore chooses the searches, and not every statement costs one. A
// memory is an atomic sentence, a time and an id. No memory is deleted: an update states the end of a fact.
//
// The agent keeps no state between its steps. Its searches go out as the verdict's lookups. The trail of its steps
// goes out as the memo, and comes back with the results.
package deltamem

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/platform/config"
)

// Name is the strategy's name.
const Name = "deltamem"

// Bounds are the limits of the agent's cost for one session.
type Bounds struct {
	// Steps is how often the model is asked; in the last step it must finish.
	Steps int
	// Searches is how many queries it may make in all, and AtOnce how many in one step.
	Searches, AtOnce int
	// Found is how many memories a query finds.
	Found int
}

// DefaultBounds are the bounds of NewLLM. Five found memories are the paper's.
func DefaultBounds() Bounds { return Bounds{Steps: 6, Searches: 8, AtOnce: 4, Found: 5} }

// Validate reports every bound that is out of range. A workflow makes at most 32 rounds, and at most 64 searches in
// one.
func (b Bounds) Validate() error {
	return errors.Join(
		config.Require(b.Steps >= 1 && b.Steps <= 16, "steps", b.Steps, "1 to 16"),
		config.Require(b.Searches >= 0 && b.Searches <= 64, "searches", b.Searches, "0 to 64"),
		config.Require(b.AtOnce >= 1 && b.AtOnce <= 16, "queries at once", b.AtOnce, "1 to 16"),
		config.Require(b.Found >= 1 && b.Found <= 20, "found memories", b.Found, "1 to 20"),
	)
}

// The span of every step has the cost of the session so far; the last span has the sums.
const (
	AttrSteps        = attribute.Key("mneme.agent.steps")
	AttrSearches     = attribute.Key("mneme.agent.searches")
	AttrInputTokens  = attribute.Key("mneme.agent.tokens.input")
	AttrOutputTokens = attribute.Key("mneme.agent.tokens.output")
)

// report writes the cost to the current span.
func report(ctx context.Context, steps, searches int, tokens tokens) {
	trace.SpanFromContext(ctx).SetAttributes(
		AttrSteps.Int(steps), AttrSearches.Int(searches), AttrInputTokens.Int64(tokens.Input),
		AttrOutputTokens.Int64(tokens.Output))
}

// tokens are of all steps together, as the server counts.
type tokens struct {
	Input  int64 `json:"input,omitempty"`
	Output int64 `json:"output,omitempty"`
}

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
