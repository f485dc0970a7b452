package memoryr2

import (
	"cmp"
	"slices"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// relate reduces the memories of each fact for the manager. They have the same speaker and a cosine of at least least.
// There are at most relatedEach for a fact, and at most overall for all facts together. Where overall is too small,
// the nearest memory of every fact comes before the second of any fact.
func relate(in formation.Bundle, least float64, overall int) formation.Bundle {
	who, out := speakersOf(in.Session.Turns), in
	out.Related = make([]formation.Related, len(in.Related))
	for i, r := range in.Related {
		out.Related[i] = who.ofSameSpeaker(r, in.Session.Turns, least)
	}
	shown := map[string]bool{}
	for rank := range relatedEach {
		for _, i := range bySimilarity(out.Related, rank) {
			if len(shown) < overall || shown[out.Related[i].Memories[rank].ID] {
				shown[out.Related[i].Memories[rank].ID] = true
			}
		}
	}
	for i, r := range out.Related {
		out.Related[i] = filterKnown(r, func(m memory.Memory, _ float64) bool { return shown[m.ID] })
	}
	return out
}

// ofSameSpeaker keeps a fact's memories of the same speaker.
func (s speakers) ofSameSpeaker(r formation.Related, turns []memory.Turn, least float64) formation.Related {
	subject, named := s.subject(r.Candidate, turns)
	r = filterKnown(r, func(m memory.Memory, similarity float64) bool {
		return m.Status == memory.StatusActive && similarity >= least && s.owns(m, subject, named)
	})
	return nearest(r, relatedEach)
}

// nearest keeps the most similar memories of a fact. The bank ranks by words, too, so that they do not come in order of
// similarity.
func nearest(r formation.Related, n int) formation.Related {
	order := make([]int, len(r.Memories))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.Similarity[b], r.Similarity[a]) })
	out := formation.Related{Candidate: r.Candidate}
	for _, i := range order[:min(n, len(order))] {
		out.Memories, out.Similarity = append(out.Memories, r.Memories[i]), append(out.Similarity, r.Similarity[i])
	}
	return out
}

// filterKnown filters the memories of a fact; one without a similarity counts as far.
func filterKnown(r formation.Related, want func(memory.Memory, float64) bool) formation.Related {
	out := formation.Related{Candidate: r.Candidate}
	for i, m := range r.Memories {
		similarity := 0.0
		if i < len(r.Similarity) {
			similarity = r.Similarity[i]
		}
		if want(m, similarity) {
			out.Memories, out.Similarity = append(out.Memories, m), append(out.Similarity, similarity)
		}
	}
	return out
}

// bySimilarity returns the facts that have a memory of that rank, the nearest first.
func bySimilarity(related []formation.Related, rank int) []int {
	var out []int
	for i, r := range related {
		if rank < len(r.Memories) {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int {
		return cmp.Compare(related[b].Similarity[rank], related[a].Similarity[rank])
	})
	return out
}
