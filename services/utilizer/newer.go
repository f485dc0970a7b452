package utilizer

import (
	"slices"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/query/intent"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/recall/embedded"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// maxNewer is the maximum number of newer memories beside a memory or a line of the core block: the newest.
const maxNewer = 2

// linking finds the current candidates that link to a memory, the newest first.
type linking struct {
	memory.Newer[int]
	f found
}

// linkingOf reads the links of the candidates.
func linkingOf(f found) linking {
	of := func(i int) memory.Memory { return f.candidates[i].Memory }
	places := make([]int, len(f.candidates))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(i, j int) int { return of(j).ValidFrom.Compare(of(i).ValidFrom) })
	return linking{memory.NewerOf(places, of), f}
}

func (l linking) of(i int) memory.Memory { return l.f.candidates[i].Memory }

// add adds the newest memories that link to one of these, and the newest that link to those, up to a number in all.
func (l linking) add(places []int, ids []string, most int) []int {
	before := len(places)
	l.Walk(ids, maxNewer, func(i int) bool {
		if len(places)-before >= most || slices.Contains(places, i) {
			return false
		}
		places = append(places, i)
		return true
	})
	return places
}

// withNewer adds the newer memories that link to a shown one, behind the others. So an older memory is never alone. The
// last ranked memories lose their places to them. At most maxNewer newer memories of each line of the core block come
// in addition. A query about the past asks for the older ones, so it gets no others.
func withNewer(f found, ranked, places []int, q Request, explored string) []int {
	l := linkingOf(f)
	all := recall.InOrder(q.asked.Horizon, places, l.of)
	if q.asked.Horizon.Intent == intent.Past || l.IsEmpty() {
		return all
	}
	shown := make([]string, len(all))
	for k, i := range all {
		shown[k] = l.of(i).ID
	}
	all = l.cut(l.add(all, shown, len(f.candidates)), ranked, max(len(places), q.Memories), explored)
	for _, m := range f.coreMemories {
		all = l.add(all, []string{m.ID}, maxNewer)
	}
	return all
}

// cut removes the last ranked places until there are at most room. It keeps the explored memory, memories with an own
// place, and newer memories that link to one with a place. If only these are left, it removes the first ranked one.
func (l linking) cut(places, ranked []int, room int, explored string) []int {
	own := func(i int) bool {
		isNewer := slices.ContainsFunc(l.of(i).Links, func(id string) bool { return slices.Contains(l.Of(id), i) })
		return l.of(i).ID == explored || !slices.Contains(ranked, i) && !isNewer
	}
	for len(places) > room {
		last := len(places) - 1
		for ; last > 0; last-- {
			i := places[last]
			links := func(o int) bool { return o != i && slices.Contains(l.Of(l.of(o).ID), i) }
			if !own(i) && !slices.ContainsFunc(places, links) {
				break
			}
		}
		places = slices.Delete(places, last, last+1)
	}
	return places
}

// replacedBy returns the earlier versions of memories, by the ids of the memories.
func (f found) replacedBy(current []memory.Memory) map[string][]memory.Memory {
	if f.replaced == nil {
		return nil
	}
	out := map[string][]memory.Memory{}
	for _, m := range current {
		if earlier := f.replaced(m.ID); len(earlier) > 0 {
			out[m.ID] = earlier
		}
	}
	return out
}

// currentOf returns the valid versions of the shown memories that no longer hold, each once. A question with an
// explicit time gets no version from after that time.
func currentOf(f found, shown []bank.Scored, q Request) []memory.Memory {
	if f.index == nil {
		return nil
	}
	h := q.asked.Horizon
	known := map[string]bool{}
	for _, s := range shown {
		known[s.Memory.ID] = true
	}
	var out []memory.Memory
	for _, s := range shown {
		if s.Memory.Status != memory.StatusSuperseded {
			continue
		}
		m, ok := f.index.Current(s.Memory.ID)
		if !ok || known[m.ID] || h.Exact && m.ValidFrom.After(h.At) || !q.Filter.IsZero() && !q.Filter.Match(m) {
			continue
		}
		m.Vector, known[m.ID] = nil, true
		out = append(out, m)
	}
	return slices.Clip(out)
}

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
