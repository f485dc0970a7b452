package parallel

import (
	"cmp"
	"slices"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
)

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
