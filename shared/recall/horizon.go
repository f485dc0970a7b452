package recall

import (
	"slices"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/query/intent"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// Statuses returns the states of the memories that a query with this horizon may show.
func Statuses(h query.Horizon) []memory.Status {
	switch {
	case h.Intent == intent.Past:
		return memory.Recallable()
	case h.Intent == intent.Event:
		return []memory.Status{memory.StatusActive, memory.StatusSuperseded}
	}
	return []memory.Status{memory.StatusActive}
}

// Within returns the found memories that match a horizon, in their order. With a time, it keeps one version of
// each memory. That is the version of that time, or the first version if there was none yet. Without a time, it
// keeps the versions that are no longer valid, because the question is not about the current one. A memory with one
// version is kept, unless it was no longer valid at that time, or was retracted as never valid. For an event, a
// version is left out if a later version has all its turns, or if it was retracted.
func Within(h query.Horizon, found []bank.Scored) []bank.Scored {
	if h.Intent == intent.Event {
		return slices.DeleteFunc(slices.Clone(found), func(s bank.Scored) bool {
			return !slices.Contains(Statuses(h), s.Memory.Status) || slices.ContainsFunc(found, func(o bank.Scored) bool {
				return slices.Contains(o.Memory.Predecessors, s.Memory.ID) && covers(o.Memory.Sources, s.Memory.Sources)
			})
		})
	}
	if h.Intent != intent.Past {
		return found
	}
	drop := map[string]bool{}
	for _, chain := range chains(found) {
		if len(chain) < 2 {
			continue
		}
		keep := chosenVersion(h, chain)
		for _, m := range chain {
			if !keep(m) {
				drop[m.ID] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(found), func(s bank.Scored) bool {
		return drop[s.Memory.ID] || !wasValid(h, s.Memory)
	})
}

// covers reports whether all of some turns are among others.
func covers(turns, some []string) bool {
	return !slices.ContainsFunc(some, func(id string) bool { return !slices.Contains(turns, id) })
}

// InOrder sorts ranked linked memories into reading order. Memories are linked if the newer may have replaced the
// older, without certainty. The newer comes first for a question about the present, or about a time when it was known.
// The older comes first for a question about the past. The first of two moves up to directly before the other.
func InOrder[T any](h query.Horizon, ranked []T, of func(T) memory.Memory) []T {
	places := make(map[string]int, len(ranked))
	for i, r := range ranked {
		places[of(r).ID] = i
	}
	before := make([][]int, len(ranked))
	for newer, r := range ranked {
		m := of(r)
		olderFirst := h.Intent == intent.Past && (h.At.IsZero() || m.ValidFrom.After(h.At))
		for _, link := range m.Links {
			older, ok := places[link]
			switch {
			case ok && olderFirst:
				before[newer] = append(before[newer], older)
			case ok:
				before[older] = append(before[older], newer)
			}
		}
	}
	out, done := make([]T, 0, len(ranked)), make([]bool, len(ranked))
	var add func(i int)
	add = func(i int) {
		if done[i] {
			return
		}
		done[i] = true
		for _, first := range before[i] {
			add(first)
		}
		out = append(out, ranked[i])
	}
	for i := range ranked {
		add(i)
	}
	return out
}

// TurnsWithin keeps the turns from before an explicitly requested time.
func TurnsWithin(h query.Horizon, turns []memory.Turn) []memory.Turn {
	if !h.Exact {
		return turns
	}
	return slices.DeleteFunc(slices.Clone(turns), func(t memory.Turn) bool { return t.Time.After(h.At) })
}

// wasValid reports whether a memory may have been valid at the time asked about.
func wasValid(h query.Horizon, m memory.Memory) bool {
	if m.Status == memory.StatusRetracted && !m.ValidTo.After(m.ValidFrom) {
		return false
	}
	if h.At.IsZero() {
		return true
	}
	if h.Exact && m.ValidFrom.After(h.At) {
		return false
	}
	return m.ValidTo.IsZero() || m.ValidTo.After(h.At) || h.At.Before(m.ValidFrom)
}

// chosenVersion chooses among the versions of one memory, which are in order.
func chosenVersion(h query.Horizon, chain []memory.Memory) func(memory.Memory) bool {
	if h.At.IsZero() {
		return func(m memory.Memory) bool { return m.Status != memory.StatusActive }
	}
	chosen := chain[0].ID
	for _, m := range chain {
		if !m.ValidFrom.After(h.At) {
			chosen = m.ID
		}
	}
	return func(m memory.Memory) bool { return m.ID == chosen }
}

// chains groups memories that are versions of each other, oldest first in each group.
func chains(found []bank.Scored) [][]memory.Memory {
	group := map[string]int{} // id of a memory or predecessor -> place in out
	var out [][]memory.Memory
	for _, s := range found {
		ids := append([]string{s.Memory.ID}, s.Memory.Predecessors...)
		into := -1
		for _, id := range ids {
			g, ok := group[id]
			switch {
			case !ok, g == into:
			case into < 0:
				into = g
			default: // it connects two groups
				out[into] = append(out[into], out[g]...)
				out[g] = nil
				for k, v := range group {
					if v == g {
						group[k] = into
					}
				}
			}
		}
		if into < 0 {
			into = len(out)
			out = append(out, nil)
		}
		out[into] = append(out[into], s.Memory)
		for _, id := range ids {
			group[id] = into
		}
	}
	for _, chain := range out {
		slices.SortFunc(chain, func(a, b memory.Memory) int {
			if c := a.ValidFrom.Compare(b.ValidFrom); c != 0 {
				return c
			}
			return bank.ByVersion(a, b)
		})
	}
	return out
}
