package utilizer

import (
	"slices"

	"github.com/mneme-memory/mneme/shared/formation/constraint"
)

// stands is the probability from which a statement counts as a preference: a later request is at least as likely to
// depend on it as not.
const stands = 0.5

// withStores adds the best constraints and preferences without a place, each in separate places. Their order comes
// from the weights that selected the candidates. A constraint of a request seldom has the request's words, and
// memories with those words should not displace it. SaliMory's utilizer reads each store separately. Working memory
// has a share of the profile's words.
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

// aboveFloor removes memories that a request hardly needs, by the shared prior. It keeps the first memory and the
// explored one.
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
