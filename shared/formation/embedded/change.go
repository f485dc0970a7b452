package embedded

import (
	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// The options for the effect of a statement on an entry.
const (
	links    = 1
	replaces = 2
)

// never is the log-odds of an option that the rules exclude. A policy may choose it if the policy is very sure.
const never = -20

// changes returns the options for the effect of a statement on an entry: no effect, an uncertain link, or replacement.
// The thresholds set the odds of each option. whole is the probability that the statement changes any entry. may
// reports whether this entry can be the changed one.
func (f *Former) changes(
	c formation.Candidate, m memory.Memory, r relation.Relation, whole float64, may bool,
) []decision.Option {
	change := r.Change()
	link := decision.Above(change, f.links)
	replace := float64(never)
	if may {
		replace = max(0, link) + decision.Above(whole, f.closes)
	}
	out := []decision.Option{{}, {Base: link}, {Base: replace}}
	if _, plain := f.choose.(decision.Rules); plain {
		return out // no caller reads the features
	}
	slot := 0.0
	if c.Slot != "" && c.Slot == m.Slot {
		slot = 1
	}
	similar := memory.Cosine(c.Vector, m.Vector)
	out[0].Features = make([]float64, len(decision.Features(decision.Change)))
	out[links].Features = []float64{1, decision.Odds(change) / 5, decision.Odds(r[relation.Same]) / 5, 0, 0, 0, 0, 0}
	out[replaces].Features = []float64{0, 0, 0, 1, decision.Odds(change) / 5, decision.Odds(r[relation.Ends]) / 5, similar,
		slot}
	return out
}
