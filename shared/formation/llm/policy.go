// Package llm has the common parts of the strategies' llm policies: roles with prompts and structured answers, their
// input, and the checks of their answers. It also has the saliency filter by a model (SaliMory, selective attention),
// which all strategies share.
//
// Ids in prompts are short aliases, mapped back here: a model can name nothing that it was not shown.
package llm

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
	"github.com/mneme-memory/mneme/shared/platform/config"
)

//go:embed prompts/*.tmpl
var builtin embed.FS

// rules are the templates that the prompts of all strategies use.
var rules = model.Part{FS: builtin, File: "prompts/rules.v1.tmpl"}

// Options are the settings of filter and former.
type Options struct {
	// PromptDir holds files that take the place of built-in prompts of the same name; empty for none.
	PromptDir string `env:"PROMPT_DIR" desc:"directory of prompt files that replace built-in ones of the same name"`
	// Threshold is the least score of a salient turn, 0 to 1. It is low because a missed turn is worse than an extra one.
	Threshold float64 `envDefault:"0.3"`
	// FilterBatch is how many turns are rated in one call.
	FilterBatch int `envDefault:"40"`
	// Related is how many related memories the manager reads for each candidate, at most 20, nearest first.
	Related int `envDefault:"3"`
}

// DefaultOptions returns the settings that apply where nothing is set.
func DefaultOptions() Options { return Options{Threshold: 0.3, FilterBatch: 40, Related: 3} }

// Validate reports every setting that is out of range.
func (o Options) Validate() error {
	return errors.Join(
		config.Require(o.Threshold >= 0 && o.Threshold <= 1, "FILTER_THRESHOLD", o.Threshold, "0 to 1"),
		config.Require(o.FilterBatch >= 1 && o.FilterBatch <= 500, "FILTER_BATCH", o.FilterBatch, "1 to 500"),
		config.Require(o.Related >= 1 && o.Related <= 20, "RELATED", o.Related, "1 to 20"),
	)
}

// count is the value of .Params in the prompts' templates.
type count struct{ Count int }

// Role is one prompt with the client that it is put to and the form of its answer. It is safe for concurrent use.
type Role struct {
	client *model.Client
	name   model.Role
	owner  string // the strategy
	prompt model.Prompt
	schema structured.Schema
}

// RoleSpec describes a role.
type RoleSpec struct {
	to     *Role
	name   model.Role
	prompt string
	schema structured.Schema
}

// Spec describes the role at to, with answers of type A. name selects the model, and labels metrics and spans. prompt
// names the file, such as "salimory-manager.v1"; a file of that name in Options.PromptDir replaces it. schema names
// the form of the answer.
func Spec[A any](to *Role, name model.Role, prompt, schema string) RoleSpec {
	return RoleSpec{to, name, prompt, structured.SchemaOf[A](schema)}
}

// NewRoles makes a strategy's roles from the prompts in a file system. strategy is empty for the roles that all
// strategies share. It returns an error for an invalid prompt or a role without a model.
func NewRoles(client *model.Client, strategy string, prompts fs.FS, opts Options, specs ...RoleSpec) error {
	if err := opts.Validate(); err != nil {
		return err
	}
	for _, s := range specs {
		if client.ModelFor(s.name) == "" {
			return fmt.Errorf("no model is configured for role %s", s.name)
		}
		prompt, err := model.LoadPrompt(prompts, opts.PromptDir, "prompts/"+s.prompt+".tmpl", count{Count: 1}, rules)
		if err != nil {
			return fmt.Errorf("role %s: %w", s.name, err)
		}
		*s.to = Role{client: client, name: s.name, owner: strategy, prompt: prompt, schema: s.schema}
	}
	return nil
}

// Model is the model that the role asks.
func (r Role) Model() string { return r.client.ModelFor(r.name) }

// Prompt is the version of the role's prompt.
func (r Role) Prompt() string { return r.prompt.Version }

// VersionOf returns the policy version of a strategy with these roles: strategy, prompts and models.
func VersionOf(strategy string, roles ...Role) string {
	var prompts, models []string
	for _, r := range roles {
		prompts = append(prompts, r.Prompt())
		if m := r.Model(); !slices.Contains(models, m) {
			models = append(models, m)
		}
	}
	return strategy + "/llm/" + strings.Join(prompts, "+") + "/" + strings.Join(models, "+")
}

// Ask renders the role's prompt around data, calls the model, and passes the answer to use. A is the struct of the
// role's schema; n is .Params.Count in the prompt. use reports a wrong answer with structured.Faultf. The model then
// sees the fault once and may repair the answer. The errors are the errors of package shared/model/llm.
func Ask[A, T any](
	ctx context.Context, r Role, scope memory.Scope, data any, n int, use func(A) (T, error),
) (T, error) {
	system, user, err := r.prompt.Render(data, count{Count: n})
	if err != nil {
		var none T
		return none, fmt.Errorf("prompt %s: %w", r.prompt.Version, err)
	}
	req := model.Request{
		Role: r.name, Scope: scope, Strategy: r.owner, Prompt: r.prompt.Version, System: system, User: user,
		Schema: &r.schema,
	}
	return model.AskJSON(ctx, r.client, req, use)
}

// Alias is the name of the i-th thing of a sort in a prompt: t1, c1, m1.
func Alias(sort string, i int) string { return sort + strconv.Itoa(i+1) }

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
