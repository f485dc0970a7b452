package corpus

import (
	"slices"

	"github.com/mneme-memory/mneme/lab/synthesis"
	"github.com/mneme-memory/mneme/shared/formation/relation"
)

// evolutions are the names of labels in package synthesis.
var evolutions = map[relation.Label]synthesis.Evolution{
	relation.Unrelated: synthesis.EvolutionNear, relation.Same: synthesis.EvolutionAgain,
	relation.Adds:     synthesis.EvolutionExpand,
	relation.Replaces: synthesis.EvolutionShift, relation.Ends: synthesis.EvolutionEnd,
}

// Phrasings returns the statements and later statements of the people of a split's banks, for made-up people. A later
// statement without a related entry becomes a separate phrasing.
func Phrasings(s Split) ([][]synthesis.Phrasing, error) {
	banks, err := Banks(s)
	if err != nil {
		return nil, err
	}
	var out [][]synthesis.Phrasing
	for _, b := range banks {
		var told []synthesis.Phrasing
		for _, said := range b.Stored {
			told = append(told, synthesis.Phrasing{Told: said})
		}
		for _, l := range b.Later {
			if l.Entry < 0 {
				told = append(told, synthesis.Phrasing{Told: l.Text})
				continue
			}
			told[l.Entry].Later = append(told[l.Entry].Later, synthesis.Later{Said: l.Text, Evolution: evolutions[l.Relation()]})
		}
		out = append(out, slices.Clip(told))
	}
	return out, nil
}
