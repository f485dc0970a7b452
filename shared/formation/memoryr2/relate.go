package memoryr2

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
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

// A quotation belongs to its speaker. In the third person, the text decides. A fact is about the session's speaker
// whom its content names first, else the one whom its slot names, else the one who said it. A memory belongs to every
// speaker whom its content or its slot names. Both belong together when the fact is about one of these speakers. A
// memory without a named speaker belongs with facts that name no speaker.
type speakers struct{ names []string }

// speakersOf are the names of those who speak in a session.
func speakersOf(turns []memory.Turn) speakers {
	var s speakers
	for _, t := range turns {
		name := strings.Join(strings.Fields(t.Speaker), " ")
		if name != "" && !slices.Contains(s.names, name) {
			s.names = append(s.names, name)
		}
	}
	return s
}

// subject returns the person whom a fact is about. named is false where neither content nor slot has a name, and the
// first source's speaker is returned.
func (s speakers) subject(c formation.Candidate, turns []memory.Turn) (name string, named bool) {
	if c.Speaker != "" {
		return c.Speaker, true
	}
	if all := s.namedIn(c.Content); len(all) > 0 {
		return all[0], true
	}
	if all := s.inSlot(c.Slot); len(all) > 0 {
		return all[0], true
	}
	for _, t := range turns {
		if slices.Contains(c.Sources, t.ID) {
			return strings.Join(strings.Fields(t.Speaker), " "), false
		}
	}
	return "", false
}

// owns reports whether a memory is of that speaker.
func (s speakers) owns(m memory.Memory, subject string, named bool) bool {
	if m.Speaker != "" {
		return m.Speaker == subject
	}
	of := append(s.namedIn(m.Content), s.inSlot(m.Slot)...)
	if len(of) == 0 {
		return !named
	}
	return slices.Contains(of, subject)
}

// namedIn returns the speakers whom a text names by their first name, in the order of their first mention.
func (s speakers) namedIn(said string) []string {
	var out []string
	for _, w := range text.Words(said) {
		for _, name := range s.names {
			if names(w, name) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// inSlot is in for the subject of a slot, which is in lower case: "ana/home", "ana's sister/home".
func (s speakers) inSlot(slot string) []string {
	subject, _, _ := strings.Cut(slot, "/")
	words := text.Words(subject)
	if len(words) == 0 {
		return nil
	}
	words[0].Capital = true
	var out []string
	for _, name := range s.names {
		if names(words[0], name) {
			out = append(out, name)
		}
	}
	return out
}

// names reports whether a word is a speaker's first name. A small letter is no name where the speaker has a great one:
// "will", "may".
func names(w text.Word, speaker string) bool {
	first := text.Words(speaker)
	if len(first) == 0 || strings.TrimSuffix(w.Lower, "'s") != strings.TrimSuffix(first[0].Lower, "'s") {
		return false
	}
	r, _ := utf8.DecodeRuneInString(speaker)
	return w.Capital || !unicode.IsUpper(r)
}
