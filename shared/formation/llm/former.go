package llm

import (
	"fmt"

	"github.com/mneme-memory/mneme/shared/formation"
	model "github.com/mneme-memory/mneme/shared/llm"
	"github.com/mneme-memory/mneme/shared/llm/structured"
)

// Strategy is the name of the strategy whose memories a Former makes.
const Strategy = "salimory"

// Former extracts memories and decides operations by a model. It is safe for concurrent use.
type Former struct {
	extractor role
	manager   role
	opts      Options
}

var _ formation.Former = (*Former)(nil)

// NewFormer makes a former. A prompt that does not work is an error here, not later.
func NewFormer(client *model.Client, opts Options) (*Former, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	extractor, err := newRole(client, model.RoleExtractor, structured.SchemaOf[extraction]("mneme_extractor"), opts)
	if err != nil {
		return nil, fmt.Errorf("llm extractor: %w", err)
	}
	manager, err := newRole(client, model.RoleManager, structured.SchemaOf[decisions]("mneme_manager"), opts)
	if err != nil {
		return nil, fmt.Errorf("llm manager: %w", err)
	}
	return &Former{extractor: extractor, manager: manager, opts: opts}, nil
}

// Version is strategy, prompt versions and models.
func (f *Former) Version() string {
	models := f.extractor.client.ModelFor(model.RoleExtractor)
	if m := f.manager.client.ModelFor(model.RoleManager); m != models {
		models += "+" + m
	}
	return Strategy + "/llm/" + f.extractor.prompt.Version + "+" + f.manager.prompt.Version + "/" + models
}
