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

// passingFor is how long after it was said working memory holds what matters for the moment only: into the next day, when somebody may
// still have it in mind. What names a day to come is held until that day is over, as long as the window's own limit of age allows.
const passingFor = 24 * time.Hour

// passing is what was decided on candidates that are for working memory only.
type passing struct {
	operations []memory.Operation
	turns      []formation.Passing
}

// addTo completes the verdict on the others.
func (p passing) addTo(v formation.Verdict) formation.Verdict {
	v.Operations = append(v.Operations, p.operations...)
	v.Passing = append(v.Passing, p.turns...)
	return v
}

// split takes the candidates that are for working memory only out of a bundle and decides on them. In SaliMory, W is a store of its own
// beside F and P: extraction routes to one of the three, and W is kept within a sliding time window. Here W holds turns, not statements:
// every salient turn enters it when it is said, and leaves it by the budget of words or by age. A turn that told something for W alone
// would be lost with it, as the bank is given nothing; so W is told to hold that turn for its time, and to let it go then.
func split(in formation.Bundle) (formation.Bundle, passing) {
	var lasting []formation.Related
	var out passing
	for _, r := range in.Related {
		c := r.Candidate
		if !c.Working {
			lasting = append(lasting, r)
			continue
		}
		op := memory.Operation{Kind: memory.OpNone, Sources: slices.Clone(c.Sources), Reason: reasonWorking}
		out.operations = append(out.operations, op)
		for _, t := range in.Session.Turns {
			if slices.Contains(c.Sources, t.ID) {
				out.turns = append(out.turns, formation.Passing{TurnID: t.ID, Until: until(c, t)})
			}
		}
	}
	in.Related = lasting
	return in, out
}

// until is up to when a turn is held that tells a candidate.
func until(c formation.Candidate, t memory.Turn) time.Time {
	end := t.Time.Add(passingFor)
	if e := c.EventTime; e.Precision == memory.PrecisionDay {
		day := e.Time
		if e.End.After(day) {
			day = e.End
		}
		if over := day.AddDate(0, 0, 1); over.After(end) {
			return over
		}
	}
	return end
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
