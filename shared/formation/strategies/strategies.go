// Package strategies lists the strategies of forming memory. A new strategy needs a separate package next to the
// others, a line here, and its name in package tenant.
package strategies

import (
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/deltamem"
	"github.com/mneme-memory/mneme/shared/formation/guard"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/membuilder"
	"github.com/mneme-memory/mneme/shared/formation/memoryr2"
	"github.com/mneme-memory/mneme/shared/formation/rmm"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
)

// Strategy is a way of forming memory, by both policies. Its formers stand behind the guard.
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
		strategy(deltamem.Name, deltamem.NewEmbedded, deltamem.NewLLM),
		strategy(membuilder.Name, membuilder.NewEmbedded, membuilder.NewLLM),
		strategy(memoryr2.Name, memoryr2.NewEmbedded, memoryr2.NewLLM),
		strategy(rmm.Name, rmm.NewEmbedded, rmm.NewLLM),
		strategy(salimory.Name, salimory.NewEmbedded, salimory.NewLLM),
	}
}

func strategy[E, L formation.Former](
	name string, embedded func() E, byModel func(*model.Client, llm.Options) (L, error),
) Strategy {
	return Strategy{
		Name:     name,
		Embedded: func() formation.Former { return guard.New(embedded()) },
		LLM: func(c *model.Client, o llm.Options) (formation.Former, error) {
			f, err := byModel(c, o)
			if err != nil {
				return nil, err
			}
			return guard.New(f), nil
		},
	}
}
