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

// session is the state of one Decide between its groups.
type session struct {
	in         formation.Bundle
	operations []memory.Operation
	// fresh are the entries written so far that hold, with the vectors of the facts they come from.
	fresh  []memory.Memory
	closed map[string]bool
}

func newSession(in formation.Bundle) *session { return &session{in: in, closed: map[string]bool{}} }

// group is the bundle of some facts, related to the bank as the groups before have left it.
func (s *session) group(facts []formation.Related) formation.Bundle {
	out := s.in
	out.Related = make([]formation.Related, len(facts))
	for i, r := range facts {
		r = filterKnown(r, func(m memory.Memory, _ float64) bool { return !s.closed[m.ID] })
		for _, m := range s.fresh {
			r.Memories = append(r.Memories, m)
			r.Similarity = append(r.Similarity, memory.Cosine(r.Candidate.Vector, m.Vector))
		}
		out.Related[i] = r
	}
	return relate(out, leastSimilarity, relatedOverall)
}

// add records the decisions of a group.
func (s *session) add(group formation.Bundle, ops []memory.Operation) {
	vectors := map[string]memory.Vector{}
	for _, r := range group.Related {
		vectors[idOf(s.in.Session.Scope, r.Candidate)] = r.Candidate.Vector
	}
	for _, op := range ops {
		s.operations = append(s.operations, op)
		if op.Kind != memory.OpNone {
			for _, id := range op.Targets {
				s.closed[id] = true
			}
		}
		if op.New != nil {
			m := *op.New
			m.Vector = vectors[m.ID]
			s.fresh = append(s.fresh, m)
		}
	}
	s.fresh = slices.DeleteFunc(s.fresh, func(m memory.Memory) bool { return s.closed[m.ID] })
}

// idOf is the id of the entry that a fact writes.
func idOf(scope memory.Scope, c formation.Candidate) string {
	sources := slices.Clone(c.Sources)
	slices.Sort(sources)
	return memory.DeriveID(scope, slices.Compact(sources), c.Ordinal)
}
