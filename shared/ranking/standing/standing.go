// Package standing tells how likely it is that requests of another day have to respect what a user says: preferences, habits, limits, what
// the user has and uses. It is a linear model of words, trained by `mneme-lab train standing` (docs/reranker-model-card.md).
package standing

import (
	_ "embed" // the model is part of the program
	"fmt"
	"sync"

	"github.com/mneme-memory/mneme/shared/text/linear"
)

//go:embed model.json
var shipped []byte

// Shipped is the model that is compiled into the binary. Its score is that of a turn of which one in two is needed later.
var Shipped = sync.OnceValue(func() *linear.Model {
	m, err := linear.Parse(shipped)
	if err != nil {
		panic(fmt.Sprintf("load the compiled-in model: %v", err)) // the file is part of the program, and a test reads it
	}
	return m
})
