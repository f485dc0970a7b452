package embedded

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Reasons of operations; they hold no conversation text.
const (
	reasonNew    = "new"
	reasonKnown  = "already known"
	reasonChange = "tells what changed"
	// ReasonPart is of what changes a part of the entry that it links first: the entry stays for the rest.
	ReasonPart = "changes a part of an entry, which stays for the rest"
	// ReasonEnd is of what takes the place of an entry because it says that it is over.
	ReasonEnd   = "tells that it is over"
	reasonPart  = "changes a part of an entry, which stays for the rest"
	reasonMaybe = "may change an entry, which stays"
	reasonOlder = "older than what is known"
)

const (
	// surelySame is the probability of saying the same from which nothing is written.
	surelySame = 0.7
	// maxClosed and maxLinked bound how many entries one statement closes, and names as uncertain.
	maxClosed = 4
	maxLinked = 3
)

// Decide goes through the candidates in order; what an earlier one wrote is known to the later ones. It errs on the side of adding: a
// wrong update loses what was right, a double only costs space.
func (f *Former) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	d := decider{former: f, session: in.Session, turns: map[string]memory.Turn{}, closed: map[string]bool{}}
	for _, t := range in.Session.Turns {
		d.turns[t.ID] = t
	}
	for _, r := range in.Related {
		if err := ctx.Err(); err != nil {
			return formation.Verdict{}, fmt.Errorf("decide operations: %w", err)
		}
		if err := d.decide(r); err != nil {
			return formation.Verdict{}, err
		}
	}
	return formation.Verdict{Operations: d.ops}, nil
}

// decider is the state of one Decide.
type decider struct {
	former  *Former
	session formation.Session
	turns   map[string]memory.Turn
	// fresh are the entries written so far, closed those that no longer hold.
	fresh  []memory.Memory
	closed map[string]bool
	ops    []memory.Operation
}

func (d *decider) decide(r formation.Related) error {
	c := r.Candidate
	if len(c.Sources) == 0 {
		return fault.Terminal("candidate.sources", "is empty, want at least one turn id")
	}
	turn, ok := d.turns[c.Sources[0]]
	if !ok {
		return fault.Terminal("candidate.sources", "names a turn that is not in the session")
	}
	op := memory.Operation{Kind: memory.OpAdd, Sources: slices.Clone(c.Sources), Reason: reasonNew}
	entry := d.entry(c, turn.Time)
	known := d.known(r.Memories)
	if m, ok := repeated(c, known); ok {
		if m.EventTime.Time.Equal(c.EventTime.Time) || c.Kind != memory.KindEpisodic {
			op.Kind, op.Targets, op.Reason = memory.OpNone, []string{m.ID}, reasonKnown
			d.ops = append(d.ops, op)
			return nil
		}
		entry.Content += " (" + turn.Time.UTC().Format(time.DateOnly) + ")" // it happened again: no two entries read alike
	}
	if turn.Role != memory.RoleAssistant && !strings.HasPrefix(c.Content, "[quotes:") {
		d.relate(&op, &entry, c, turn, known)
	}
	if op.Kind != memory.OpNone {
		op.New, op.Anew = &entry, op.Kind != memory.OpAdd
		d.fresh = append(d.fresh, entry)
		for _, id := range op.Targets {
			d.closed[id] = true
		}
	}
	d.ops = append(d.ops, op)
	return nil
}

// known returns the entries that a candidate is held against: the related ones that still hold, nearest first, then those written
// before it.
func (d *decider) known(related []memory.Memory) []memory.Memory {
	var out []memory.Memory
	seen := map[string]bool{}
	for _, m := range slices.Concat(related, d.fresh) {
		if !d.closed[m.ID] && !seen[m.ID] && m.Status == memory.StatusActive {
			seen[m.ID] = true
			out = append(out, m)
		}
	}
	return out
}

// repeated returns the entry that says the same, word for word.
func repeated(c formation.Candidate, known []memory.Memory) (memory.Memory, bool) {
	words := text.Canonical(c.Content)
	i := slices.IndexFunc(known, func(m memory.Memory) bool { return m.Speaker == c.Speaker && text.Canonical(m.Content) == words })
	if i < 0 || words == "" {
		return memory.Memory{}, false
	}
	return known[i], true
}

// judged is a known entry with what the statement does to it.
type judged struct {
	memory.Memory
	relation.Relation
}

// relate decides what a person's own statement does to what they told before.
func (d *decider) relate(op *memory.Operation, entry *memory.Memory, c formation.Candidate, turn memory.Turn, known []memory.Memory) {
	later := relation.Statement{Text: plain(c.Content), Role: turn.Role, Speaker: c.Speaker, Time: turn.Time}
	var own []memory.Memory
	var stored []relation.Statement
	for _, m := range known {
		if (m.Speaker == "" || m.Speaker == c.Speaker) && m.Sources[0] != c.Sources[0] {
			own, stored = append(own, m), append(stored, asStored(m))
		}
	}
	var changed, linked []judged
	for i, r := range d.former.judge.Judge(later, stored) {
		m := own[i]
		switch change := r.Change(); {
		case r[relation.Same] >= surelySame && len(missing(c.Content, m.Content)) == 0:
			op.Kind, op.Targets, op.Reason = memory.OpNone, []string{m.ID}, reasonKnown
			return
		case turn.Time.Before(m.ValidFrom) && change >= d.former.links:
			op.Reason = reasonOlder // a late turn changes nothing that was told after it
		case change >= d.former.closes && !d.former.compound(plain(m.Content)):
			changed = append(changed, judged{m, r})
		case change >= d.former.links:
			linked = append(linked, judged{m, r})
		}
	}
	likeliest := func(a, b judged) int { return cmp.Compare(b.Change(), a.Change()) }
	slices.SortStableFunc(changed, likeliest)
	slices.SortStableFunc(linked, likeliest)
	for i, j := range changed {
		if i == 0 || len(op.Targets) < maxClosed && d.saysSame(j.Memory, changed[0].Memory) {
			op.Targets = append(op.Targets, j.ID)
			continue
		}
		linked = append(linked, j)
	}
	slices.SortStableFunc(linked, likeliest)
	for _, j := range linked[:min(len(linked), maxLinked)] {
		entry.Links = append(entry.Links, j.ID)
	}
	if len(changed) > 0 {
		op.Kind, op.Reason = memory.OpUpdate, reasonChange
		if changed[0].Relation[relation.Ends] > changed[0].Relation[relation.Replaces] {
			op.Reason = ReasonEnd
		}
	}
	switch {
	case len(op.Targets) > 1:
		op.Kind = memory.OpMerge
	case len(op.Targets) == 1:
	case len(changed) == 0 && len(linked) > 0 && linked[0].Change() >= d.former.closes:
		op.Reason = ReasonPart
	case len(linked) > 0:
		op.Reason = reasonMaybe
	}
}

// saysSame reports whether an entry says again what another says: it is changed with it. Of others only the likeliest is.
func (d *decider) saysSame(m, of memory.Memory) bool {
	return d.former.judge.Judge(asStored(m), []relation.Statement{asStored(of)})[0][relation.Same] >= surelySame
}

func asStored(m memory.Memory) relation.Statement {
	return relation.Statement{Text: plain(m.Content), Role: memory.RoleUser, Speaker: m.Speaker, Time: m.ValidFrom}
}

// missing are the content stems of a statement that another does not have.
func missing(said, of string) []string {
	have := text.StemSet(of)
	return slices.DeleteFunc(text.ContentStems(said), func(s string) bool { return have[s] })
}

// note is a day that was put behind an expression of time.
var note = regexp.MustCompile(` \((?:week of |weekend of |[a-z]+ )?\d{4}(?:-\d{2}){0,2}\)`)

// plain is a content without the days that were added to it.
func plain(content string) string { return note.ReplaceAllString(content, "") }

func (d *decider) entry(c formation.Candidate, at time.Time) memory.Memory {
	sources := slices.Clone(c.Sources)
	slices.Sort(sources)
	return memory.Memory{
		ID: memory.DeriveID(d.session.Scope, c.Sources, c.Ordinal), Kind: c.Kind, Content: c.Content, Speaker: c.Speaker, Topic: c.Topic,
		Slot: c.Slot, Keywords: slices.Clone(c.Keywords), EventTime: c.EventTime, ValidFrom: at, Status: memory.StatusActive,
		Sources: slices.Compact(sources), SessionID: d.session.ID, Strategy: d.former.identity.Strategy,
		PolicyVersion: d.former.identity.PolicyVersion, Vector: c.Vector,
	}
}
