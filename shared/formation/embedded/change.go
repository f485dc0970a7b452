package embedded

import (
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// The places of what a statement may do to an entry.
const (
	links    = 1
	replaces = 2
)

// never are the log-odds of what the rules do not allow. A policy may, if it is very sure.
const never = -20

// changes are the options of what a statement does to an entry - nothing, to be linked as uncertain, to replace it - with the odds that the
// thresholds give them. whole is the probability that the statement changes any entry, may says that this one can be it.
func (f *Former) changes(c formation.Candidate, m memory.Memory, r relation.Relation, whole float64, may bool) []decision.Option {
	change := r.Change()
	link := decision.Above(change, f.links)
	replace := float64(never)
	if may {
		replace = max(0, link) + decision.Above(whole, f.closes)
	}
	out := []decision.Option{{}, {Base: link}, {Base: replace}}
	if _, plain := f.choose.(decision.Rules); plain {
		return out // nobody reads the features
	}
	slot := 0.0
	if c.Slot != "" && c.Slot == m.Slot {
		slot = 1
	}
	similar := memory.Cosine(c.Vector, m.Vector)
	out[0].Features, out[0].About = make([]float64, len(decision.Features(decision.Change))), string(c.Kind)
	out[links].Features = []float64{1, decision.Odds(change) / 5, decision.Odds(r[relation.Same]) / 5, 0, 0, 0, 0, 0}
	out[replaces].Features = []float64{0, 0, 0, 1, decision.Odds(change) / 5, decision.Odds(r[relation.Ends]) / 5, similar, slot}
	return out
}
