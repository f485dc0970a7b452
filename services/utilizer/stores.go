package utilizer

import (
	"slices"

	"github.com/mneme-memory/mneme/shared/formation/constraint"
)

// stands is from when what was said is taken for a preference: later requests are as likely to have to respect it as not.
const stands = 0.5

// withStores adds the best constraints and preferences that have no place yet, each to places of their own, in the order of the weights
// that chose the candidates: what a request has to respect seldom has its words, and what has its words should not crowd it out (SaliMory's
// utilizer sees each store by itself; working memory has its part of the profile's words).
func withStores(f found, places []int, own int) []int {
	room := min(own, len(places)*2/5)
	constraints, preferences := room, room
	for i, c := range f.candidates {
		if constraints+preferences == 0 {
			break
		}
		if slices.Contains(places, i) {
			continue
		}
		store := &preferences
		switch {
		case constraint.Binds(c.Memory.Content):
			store = &constraints
		case c.Stands() < stands:
			continue
		}
		if *store > 0 {
			*store--
			places = append(places, i)
		}
	}
	return places
}

// aboveFloor leaves out what a request hardly needs, as the shared prior has it. The first stays, and what is there to explore.
func aboveFloor(f found, places []int, out *Result) []int {
	var kept []int
	for rank, i := range places {
		if rank == 0 || i >= len(f.hardlyNeeded) || !f.hardlyNeeded[i] || f.candidates[i].Memory.ID == out.Explored {
			kept = append(kept, i)
			continue
		}
		out.Floored = append(out.Floored, f.candidates[i].Memory.ID)
	}
	return kept
}
