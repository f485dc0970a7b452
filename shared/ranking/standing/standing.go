// Package standing estimates the probability that requests of another day must respect a user's turn. Such turns
// state preferences, habits, limits, and the user's possessions and tools. It is a linear model of words, trained
// by `mneme-lab train standing` (docs/reranker-model-card.md).
package standing

import (
	_ "embed" // the model is part of the program
	"fmt"
	"sync"

	"github.com/mneme-memory/mneme/shared/text/linear"
)

//go:embed model.json
var shipped []byte

// Shipped is the model in the binary. Its score assumes that one turn in two is needed later.
var Shipped = sync.OnceValue(func() *linear.Model {
	m, err := linear.Parse(shipped)
	if err != nil {
		panic(fmt.Sprintf("load the compiled-in model: %v", err)) // the file is part of the program, and a test reads it
	}
	return m
})
