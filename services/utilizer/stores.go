package utilizer

import (
	"slices"

	"github.com/mneme-memory/mneme/shared/recall/embedded"
)

// stands is the probability from which a preference has a separate place: a later request is at least as likely to
// depend on it as not.
const stands = 0.5

// withStores adds the best constraints and preferences without a place, each in separate places. Their order comes
// from the weights that selected the candidates. A constraint of a request seldom has the request's words, and
// memories with those words should not displace it. Other memories and talk have no such place. SaliMory's utilizer
// reads each store separately. Working memory has a share of the profile's words.
func withStores(f found, places []int, own int) []int {
	room := min(own, len(places)*2/5)
	constraints, preferences := room, room
	stores := map[string]*int{embedded.SectionConstraints: &constraints, embedded.SectionPreferences: &preferences}
	for i, c := range f.candidates {
		if constraints+preferences == 0 {
			break
		}
		if slices.Contains(places, i) {
			continue
		}
		store := stores[embedded.SectionOf(c.Memory, f.owner)]
		if store == nil || store == &preferences && c.Stands() < stands || *store == 0 {
			continue
		}
		*store--
		places = append(places, i)
	}
	return places
}

// aboveFloor removes memories that a query hardly needs, by the shared prior. It keeps the first memory and the
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

// withoutShown removes the ids of memories with a place: a newer memory returns beside an older one.
func withoutShown(floored []string, f found, places []int) []string {
	return slices.DeleteFunc(floored, func(id string) bool {
		return slices.ContainsFunc(places, func(i int) bool { return f.candidates[i].Memory.ID == id })
	})
}
