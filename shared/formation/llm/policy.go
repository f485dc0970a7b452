// Package llm forms memory by a language model: the saliency filter, and the salimory strategy's
// extractor and manager (SaliMory, selective attention and consolidation). One call filters a batch of
// turns, one extracts from a session, one decides on its candidates; each may be repaired once.
//
// Ids in prompts are short aliases, mapped back here: a model can name nothing that it was not shown.
package llm

import (
	"embed"
	"errors"
	"fmt"
	"strconv"

	"github.com/mneme-memory/mneme/shared/config"
	model "github.com/mneme-memory/mneme/shared/llm"
	"github.com/mneme-memory/mneme/shared/llm/structured"
)

//go:embed prompts/*.tmpl
var builtin embed.FS

// Options are the settings of filter and former.
type Options struct {
	// PromptDir holds files that take the place of built-in prompts of the same name; empty for none.
	PromptDir string `env:"PROMPT_DIR" desc:"directory of prompt files that replace built-in ones of the same name"`
	// Threshold is the least score of a salient turn, 0 to 1. It is low because a missed turn is worse than an extra one.
	Threshold float64 `env:"FILTER_THRESHOLD" envDefault:"0.3" desc:"least score of a salient turn, 0 to 1"`
	// FilterBatch is how many turns are rated in one call.
	FilterBatch int `env:"FILTER_BATCH" envDefault:"40" desc:"turns rated in one call"`
	// Related is how many of a candidate's related memories the manager is shown, nearest first.
	Related int `env:"RELATED" envDefault:"10" desc:"related memories shown for each candidate, at most 20"`
}

// DefaultOptions returns the settings that apply where nothing is set.
func DefaultOptions() Options { return Options{Threshold: 0.3, FilterBatch: 40, Related: 10} }

// Validate reports every setting that is out of range.
func (o Options) Validate() error {
	return errors.Join(
		config.Require(o.Threshold >= 0 && o.Threshold <= 1, "FILTER_THRESHOLD", o.Threshold, "0 to 1"),
		config.Require(o.FilterBatch >= 1 && o.FilterBatch <= 500, "FILTER_BATCH", o.FilterBatch, "1 to 500"),
		config.Require(o.Related >= 1 && o.Related <= 20, "RELATED", o.Related, "1 to 20"),
	)
}

// count is what the prompts' templates see as .Params.
type count struct{ Count int }

// role is one prompt with the client that it is put to.
type role struct {
	client *model.Client
	name   model.Role
	prompt model.Prompt
	schema structured.Schema
}

func newRole(client *model.Client, name model.Role, schema structured.Schema, opts Options) (role, error) {
	if client.ModelFor(name) == "" {
		return role{}, fmt.Errorf("no model is configured for role %s", name)
	}
	prompt, err := model.LoadPrompt(builtin, opts.PromptDir, "prompts/"+string(name)+".v1.tmpl", count{Count: 1})
	return role{client: client, name: name, prompt: prompt, schema: schema}, err
}

// request renders the role's prompt around the data.
func (r role) request(tenant string, data any, n int) (model.Request, error) {
	system, user, err := r.prompt.Render(data, count{Count: n})
	if err != nil {
		return model.Request{}, fmt.Errorf("prompt %s: %w", r.prompt.Version, err)
	}
	return model.Request{Role: r.name, Tenant: tenant, System: system, User: user, Schema: &r.schema}, nil
}

// alias is the name of the i-th thing of a sort in a prompt: t1, c1, m1.
func alias(sort string, i int) string { return sort + strconv.Itoa(i+1) }
