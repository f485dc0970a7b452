// Package salimory forms memory as SaliMory does (selective attention and consolidation, section 3). It routes the
// statements of salient turns to one of three stores: facts F, preferences P, working memory W. It reconciles them with
// the store's entries, and stale turns leave W. F and P are the bank's entries, with different kinds: P holds
// preferences, F all others. W is the window. Vague statements are left out: a gap is better than a memory without use.
package salimory

import (
	"context"
	"slices"
	"time"

	"github.com/mneme-memory/mneme/shared/decision"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/embedded"
	"github.com/mneme-memory/mneme/shared/formation/moment"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Name is the strategy's name.
const Name = "salimory"

// staleAfter is the time that a plan stays in working memory after its day. A user may still ask about the result.
const staleAfter = 48 * time.Hour

// reasonWorking marks a turn that only working memory holds.
const reasonWorking = "of the moment: working memory only"

// passingFor is the time that working memory holds a statement of the moment after its turn. It lasts into the next
// day, when a user may still refer to it. A statement that names a later day stays until that day is over, within the
// window's limit of age.
const passingFor = 24 * time.Hour

// passing is the decision on candidates that are for working memory only.
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

// split removes the candidates for working memory from a bundle and decides on them. In SaliMory, W is a separate
// store next to F and P: extraction routes to one of the three, and W is a sliding time window. Here W holds turns,
// not statements. Every salient turn enters it at its arrival, and leaves it by the budget of words or by age. A turn
// with statements for W alone would then be lost, since the bank gets no entry. The decision therefore tells W to hold
// that turn for its time, and to remove it after that.
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

// stale returns the turns of working memory that name a later day which is past at the end of the session. It leaves
// turns of the session, and turns that name no day.
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

// lastDay returns the end of the latest time that a turn names. ok is false where the turn names no time that can be
// placed.
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

// Embedded is the strategy without a model server. It is safe for concurrent use.
type Embedded struct{ *embedded.Former }

var _ formation.Divisible = (*Embedded)(nil)

// NewEmbedded makes the former; it takes some milliseconds to load the models.
func NewEmbedded() *Embedded { return &Embedded{embedded.NewFormer(embedded.IdentityOf(Name))} }

// Deciding returns the strategy with another chooser. The chooser's version follows the strategy's version.
func (f *Embedded) Deciding(choose decision.Chooser, version string) *Embedded {
	return &Embedded{f.Former.Deciding(choose, version)}
}

// Extract quotes the session, and routes statements of the moment to W.
func (f *Embedded) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	out, err := f.Former.Extract(ctx, in)
	position := in.Positions()
	for i, c := range out {
		if at, ok := position[c.Sources[0]]; ok {
			out[i].Working = moment.Passes(c, in.Turns[at].Time, f.Chooser())
		}
	}
	return out, err
}

// Decide reconciles the candidates with F and P, and removes stale turns from W.
func (f *Embedded) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	lasting, passing := split(in)
	verdict, err := f.Former.Decide(ctx, lasting)
	if err != nil {
		return formation.Verdict{}, err
	}
	verdict.Retire = stale(in.Window, in.Session)
	return passing.addTo(verdict), nil
}

// Division says that sessions can be extracted in parts and decided in groups.
func (f *Embedded) Division() formation.Division {
	return formation.Division{Extract: true, Decide: true}
}
