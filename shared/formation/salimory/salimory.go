// Package salimory forms memory as SaliMory does (selective attention and consolidation, section 3): what salient turns
// say is routed to one of three stores - facts F, preferences P, working memory W - and reconciled with what the store has; what
// is stale leaves W. F and P are the bank's entries, told apart by their kind: P holds preferences, F everything else. W is the
// window. What is vague is left out: a gap is better than a memory nobody can use.
package salimory

import (
	"slices"
	"time"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Name is the strategy's name.
const Name = "salimory"

// staleAfter is how long after its day a plan stays in working memory: one may still be asked how it went.
const staleAfter = 48 * time.Hour

// reasonWorking marks what is left to working memory.
const reasonWorking = "of the moment: working memory only"

// split takes the candidates that are for working memory only out of a bundle and decides on them: nothing is written.
func split(in formation.Bundle) (formation.Bundle, []memory.Operation) {
	var lasting []formation.Related
	var ops []memory.Operation
	for _, r := range in.Related {
		if !r.Candidate.Working {
			lasting = append(lasting, r)
			continue
		}
		ops = append(ops, memory.Operation{Kind: memory.OpNone, Sources: slices.Clone(r.Candidate.Sources), Reason: reasonWorking})
	}
	in.Related = lasting
	return in, ops
}

// stale returns the turns of working memory that speak of a day to come which has gone by when the session ends. Turns of the
// session itself are left, and so are turns that name no day.
func stale(window []memory.Turn, session formation.Session) []string {
	if len(session.Turns) == 0 {
		return nil
	}
	now := session.Turns[len(session.Turns)-1].Time
	var out []string
	for _, t := range window {
		if t.SessionID == session.ID {
			continue
		}
		if day, ok := lastDay(t); ok && day.After(t.Time) && now.Sub(day) > staleAfter {
			out = append(out, t.ID)
		}
	}
	return out
}

// lastDay is the end of the latest time that a turn names; ok is false where it names none, or one that cannot be placed.
func lastDay(t memory.Turn) (day time.Time, ok bool) {
	for _, m := range text.Dates(t.Text, t.Time) {
		if m.Unit == text.Vague {
			return time.Time{}, false
		}
		if end := m.Last().AddDate(0, 0, 1); end.After(day) {
			day, ok = end, true
		}
	}
	return day, ok
}
