// Package llm uses memory by a language model. The profiler writes the query-adapted profile. The generator answers
// from it. Each needs one call, and one more for a repair. Neither can cite a memory outside its input.
package llm

import (
	"embed"
	"errors"
	"fmt"

	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
)

//go:embed prompts/*.tmpl
var builtin embed.FS

// Options are the settings of profiler and generator.
type Options struct {
	// PromptDir holds files that take the place of built-in prompts of the same name; empty for none.
	PromptDir string `env:"PROMPT_DIR" desc:"directory of prompt files that replace built-in ones of the same name"`
	// WordBudget is how many words a profile may have where the evidence names no budget.
	WordBudget int `envDefault:"200"`
}

// DefaultOptions returns the settings that apply where nothing is set.
func DefaultOptions() Options { return Options{WordBudget: 200} }

// Validate reports every setting that is out of range.
func (o Options) Validate() error {
	if o.WordBudget < 10 {
		return errors.New("WORD_BUDGET: want 10 or more")
	}
	return nil
}

// params are the .Params of the prompts' templates.
type params struct{ WordBudget int }

// shownMessage is a message of the running conversation as a model sees it.
type shownMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func showMessages(messages []memory.Message) []shownMessage {
	var out []shownMessage
	for _, m := range messages {
		out = append(out, shownMessage{string(m.Role), m.Content})
	}
	return out
}

type role struct {
	client *model.Client
	name   model.Role
	prompt model.Prompt
}

func newRole(client *model.Client, name model.Role, file string, opts Options) (role, error) {
	if err := opts.Validate(); err != nil {
		return role{}, err
	}
	if client.ModelFor(name) == "" {
		return role{}, fmt.Errorf("no model is configured for role %s", name)
	}
	prompt, err := model.LoadPrompt(builtin, opts.PromptDir, "prompts/"+file+".tmpl", params{WordBudget: 200})
	return role{client: client, name: name, prompt: prompt}, err
}

func (r role) request(scope memory.Scope, data any, p params) (model.Request, error) {
	system, user, err := r.prompt.Render(data, p)
	if err != nil {
		return model.Request{}, fmt.Errorf("prompt %s: %w", r.prompt.Version, err)
	}
	return model.Request{Role: r.name, Scope: scope, Prompt: r.prompt.Version, System: system, User: user}, nil
}

// version is prompt version and model.
func (r role) version() string { return "llm/" + r.prompt.Version + "/" + r.client.ModelFor(r.name) }
