package llm

import (
	"slices"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// A related memory has at least leastSimilarity as its cosine, and nearShare of the nearest memory's. Statements about
// one person have a cosine of 0.2 by the person's name alone.
const (
	leastSimilarity = 0.2
	nearShare       = 0.6
)

// Nearest reduces each candidate's memories to at most a number. The memories of its slot come first, then the nearest
// others.
func Nearest(in formation.Bundle, most int) formation.Bundle {
	related := make([]formation.Related, len(in.Related))
	for i, r := range in.Related {
		least := leastSimilarity
		if len(r.Similarity) > 0 {
			least = max(least, nearShare*slices.Max(r.Similarity))
		}
		var slot, near []int
		for k, m := range r.Memories {
			switch {
			case m.Status != memory.StatusActive:
			case m.Slot != "" && m.Slot == r.Candidate.Slot:
				slot = append(slot, k)
			case k >= len(r.Similarity) || r.Similarity[k] >= least:
				near = append(near, k)
			}
		}
		kept := append(slot, near...)
		related[i].Candidate = r.Candidate
		for _, k := range kept[:min(most, len(kept))] {
			related[i].Memories = append(related[i].Memories, r.Memories[k])
			if k < len(r.Similarity) {
				related[i].Similarity = append(related[i].Similarity, r.Similarity[k])
			}
		}
	}
	in.Related = related
	return in
}
