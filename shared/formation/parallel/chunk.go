package parallel

import (
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// overlap is the number of turns before a chunk that are shown with it: a turn often answers or continues an earlier
// one.
const overlap = 3

// chunk is a part of a session with its context.
type chunk struct {
	// session has the turns from first to end and the turns shortly before. It also has the first turn of every
	// speaker who speaks elsewhere only, since the list of speakers resolves references.
	session    formation.Session
	first, end int
	// position of a turn in the whole session.
	position map[string]int
}

// split cuts a session into chunks of about the same length, at most size turns each.
func split(in formation.Session, size int) []chunk {
	position := in.Positions()
	var out []chunk
	for first := 0; first < len(in.Turns); {
		end := cut(in.Turns, first, size)
		c := chunk{session: in, first: first, end: end, position: position}
		c.session.Turns = withContext(in.Turns, first, end)
		c.session.Context = in.Around(max(0, first-overlap), end)
		out = append(out, c)
		first = end
	}
	return out
}

// cut returns the end of the chunk that begins at first. It divides the rest of the session into equal parts. The end
// may be up to a quarter earlier, after a turn without a question, so that questions stay with their answers.
func cut(turns []memory.Turn, first, size int) int {
	rest := len(turns) - first
	if rest <= size {
		return len(turns)
	}
	parts := (rest + size - 1) / size
	end := first + (rest+parts-1)/parts
	for i := end; i > max(first, end-size/4-1); i-- {
		if !strings.Contains(turns[i-1].Text, "?") {
			return i
		}
	}
	return end
}

// withContext returns the turns from first to end with their context, in the session's order.
func withContext(turns []memory.Turn, first, end int) []memory.Turn {
	type speaker struct {
		name string
		role memory.Role
	}
	begin := max(0, first-overlap)
	heard := map[speaker]bool{}
	for _, t := range turns[begin:end] {
		heard[speaker{t.Speaker, t.Role}] = true
	}
	var out []memory.Turn
	for i, t := range turns {
		s := speaker{t.Speaker, t.Role}
		if i >= begin && i < end || !heard[s] {
			out = append(out, t)
			heard[s] = true
		}
	}
	return out
}

// own removes candidates from the context alone. A candidate belongs to the chunk of its last source.
func (c chunk) own(candidates []formation.Candidate) []formation.Candidate {
	var out []formation.Candidate
	for _, candidate := range candidates {
		last := -1
		for _, id := range candidate.Sources {
			last = max(last, c.position[id])
		}
		if last >= c.first && last < c.end {
			out = append(out, candidate)
		}
	}
	return out
}
