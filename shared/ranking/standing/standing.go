// Package standing scores how likely requests of another day must respect a user's statement. Such statements are
// preferences, habits, limits and possessions. The score comes from a linear model of words, trained by `mneme-lab
// train standing` (docs/reranker-model-card.md).
package standing

import (
	_ "embed" // the model is part of the program
	"fmt"
	"sync"

	"github.com/mneme-memory/mneme/shared/text/linear"
)

//go:embed model.json
var shipped []byte

// Shipped is the model that is compiled into the binary. Its score assumes that one in two turns is needed later.
var Shipped = sync.OnceValue(func() *linear.Model {
	m, err := linear.Parse(shipped)
	if err != nil {
		panic(fmt.Sprintf("load the compiled-in model: %v", err)) // the file is part of the program, and a test reads it
	}
	return m
})
