package memoryr2

import (
	"slices"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
)

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
