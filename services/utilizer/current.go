package utilizer

import (
	"slices"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

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
