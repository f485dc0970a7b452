// Package strategies lists the ways of forming memory. A further one is a package of its own beside the others, a line here, and
// its name in package tenant.
package strategies

import (
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/membuilder"
	"github.com/mneme-memory/mneme/shared/formation/rmm"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	model "github.com/mneme-memory/mneme/shared/llm"
)

// Strategy is a way of forming memory, by both policies.
type Strategy struct {
	// Name is what tenants choose it by.
	Name string
	// Embedded makes its former without a model server.
	Embedded func() formation.Former
	// LLM makes its former by a language model. A prompt that does not work is an error.
	LLM func(*model.Client, llm.Options) (formation.Former, error)
}

// All returns the strategies.
func All() []Strategy {
	return []Strategy{
		strategy(membuilder.Name, membuilder.NewEmbedded, membuilder.NewLLM),
		strategy(rmm.Name, rmm.NewEmbedded, rmm.NewLLM),
		strategy(salimory.Name, salimory.NewEmbedded, salimory.NewLLM),
	}
}

func strategy[E, L formation.Former](name string, embedded func() E, byModel func(*model.Client, llm.Options) (L, error)) Strategy {
	return Strategy{
		Name:     name,
		Embedded: func() formation.Former { return embedded() },
		LLM:      func(c *model.Client, o llm.Options) (formation.Former, error) { return byModel(c, o) },
	}
}
