package parallel

import (
	"cmp"
	"slices"
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

// collisions returns the verdicts that must be decided as one, or nil. One of them ends an entry that the other acts
// on or links.
func collisions(verdicts []*formation.Verdict) [][]int {
	named, ended := map[string][]int{}, map[string]bool{}
	for i, v := range verdicts {
		for _, op := range v.Operations {
			for _, id := range op.Targets {
				named[id] = append(named[id], i)
				ended[id] = ended[id] || op.Kind != memory.OpNone
			}
			if op.New != nil {
				for _, id := range op.New.Links {
					named[id] = append(named[id], i)
				}
			}
		}
	}
	s := newSets(len(verdicts))
	for id, by := range named {
		for _, i := range by[1:] {
			if ended[id] {
				s.join(by[0], i)
			}
		}
	}
	joined := s.lists()
	if len(joined) == len(verdicts) {
		return nil
	}
	return joined
}

// regroup makes one bin of each list of bins. Verdicts of bins that stay as they are are kept.
func regroup(bins [][]int, verdicts []*formation.Verdict, joined [][]int) ([][]int, []*formation.Verdict) {
	outBins, outVerdicts := make([][]int, len(joined)), make([]*formation.Verdict, len(joined))
	for k, list := range joined {
		for _, i := range list {
			outBins[k] = append(outBins[k], bins[i]...)
		}
		slices.Sort(outBins[k])
		if len(list) == 1 {
			outVerdicts[k] = verdicts[list[0]]
		}
	}
	return outBins, outVerdicts
}

// unite joins the verdicts of bins into one. Operations come in order of their first source; operations of one bin
// keep their order.
func unite(session formation.Session, verdicts []*formation.Verdict) formation.Verdict {
	position := session.Positions()
	type placed struct {
		at int
		op memory.Operation
	}
	var list []placed
	var out formation.Verdict
	for _, v := range verdicts {
		at := 0
		for _, op := range v.Operations {
			first := len(session.Turns)
			for _, id := range op.Sources {
				if i, ok := position[id]; ok {
					first = min(first, i)
				}
			}
			at = max(at, first) // what depends on an operation of its bin stays behind it
			list = append(list, placed{at, op})
		}
		out.Passing = append(out.Passing, v.Passing...)
		out.Failed = append(out.Failed, v.Failed...)
		for _, id := range v.Retire {
			if !slices.Contains(out.Retire, id) {
				out.Retire = append(out.Retire, id)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	for _, p := range list {
		out.Operations = append(out.Operations, p.op)
	}
	return out
}
