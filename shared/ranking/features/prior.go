package features

import (
	_ "embed"
	"fmt"

	"github.com/mneme-memory/mneme/shared/ranking"
)

//go:embed prior.json
var prior []byte

// Prior returns the initial weights of all tenants. They are trained on made-up conversations by `mneme-lab train
// reranker`. See docs/reranker-model-card.md.
func Prior() (ranking.Prior, error) {
	p, err := ranking.DecodePrior(prior, FeatureSet, Names())
	if err != nil {
		return p, fmt.Errorf("shipped prior: %w", err)
	}
	return p, nil
}
