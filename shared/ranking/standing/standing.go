// Package standing scores how likely requests of another day must respect a user's statement. Such statements are
// preferences, habits, limits and possessions. The score comes from a linear model of words, trained by `mneme-lab
// train standing` (docs/reranker-model-card.md).
package standing

import (
	_ "embed" // the model is part of the program

	"github.com/mneme-memory/mneme/shared/model/classifier"
)

//go:embed model.json
var shipped []byte

// Shipped is the model that is compiled into the binary. Its score assumes that one in two turns is needed later.
var Shipped = classifier.Shipped("standing facts", shipped, classifier.Parse[classifier.Terms])
