package corpus

import (
	"github.com/mneme-memory/mneme/evaluation/synthesis"
	"github.com/mneme-memory/mneme/shared/formation/relation"
)

// evolutions are what made-up people call what a later statement does. Of pairs that have nothing to do with each other most look as if
// they had.
var evolutions = map[relation.Label]synthesis.Evolution{
	relation.Unrelated: synthesis.EvolutionNear, relation.Same: synthesis.EvolutionAgain, relation.Adds: synthesis.EvolutionExpand,
	relation.Replaces: synthesis.EvolutionShift, relation.Ends: synthesis.EvolutionEnd,
}

// Phrasings returns what users say in the pairs of a split, for made-up people to say: each stored statement once, with all that is said
// later about it.
func Phrasings(s Split) ([]synthesis.Phrasing, error) {
	pairs, err := Pairs()
	if err != nil {
		return nil, err
	}
	var out []synthesis.Phrasing
	places := map[string]int{}
	for _, p := range Of(pairs, s) {
		if p.StoredBy != ByUser || p.LaterBy != ByUser {
			continue
		}
		place, ok := places[p.Stored]
		if !ok {
			place = len(out)
			places[p.Stored] = place
			out = append(out, synthesis.Phrasing{Topic: p.Topic, Told: p.Stored})
		}
		out[place].Later = append(out[place].Later, synthesis.Later{Said: p.Later, Evolution: evolutions[p.Relation()]})
	}
	return out, nil
}
