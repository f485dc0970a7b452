package embedded

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Reasons of operations; they hold no conversation text.
const (
	reasonNew       = "new"
	reasonKnown     = "already known"
	reasonValue     = "new value of the slot"
	reasonEcho      = "repeats what another one told"
	reasonChange    = "tells what changed"
	reasonExpanded  = "tells more of it"
	reasonRefined   = "same value, told more fully"
	reasonOlder     = "older than what is known"
	reasonEarlier   = "tells of another time than now"
	reasonAnother   = "another value beside the first"
	reasonDenied    = "denied"
	reasonReplaced  = "denied, and what holds instead"
	reasonDenialNew = "denies what is not known"
)

// Decide goes through the candidates in order; what an earlier one wrote is known to the later
// ones. It errs on the side of adding: a wrong update loses what was right, a double only
// costs space.
func (f *Former) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	d := decider{
		former: f, scope: in.Session.Scope, session: in.Session, turns: map[string]memory.Turn{},
		closed: map[string]bool{}, cache: map[string]*reading{}, names: speakerNames(in.Session.Turns), speakers: map[string]bool{},
	}
	for _, t := range in.Session.Turns {
		d.turns[t.ID] = t
		d.speakers[displayName(t)] = true
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
	scope   memory.Scope
	session formation.Session
	turns   map[string]memory.Turn
	// fresh are the entries written so far.
	fresh []memory.Memory
	// closed are the entries that no longer hold.
	closed map[string]bool
	cache  map[string]*reading
	ops    []memory.Operation
	// names are those of the session's speakers.
	names map[string]bool
	// speakers are how they are called in statements.
	speakers map[string]bool
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
	self := displayName(turn)
	p := proposal{Candidate: c, origin: c.Sources, at: turn.Time, self: self, reading: read(c.Content, self)}
	known := d.known(r.Memories)
	kind, targets, reason := d.choose(p, known, nearness(r))
	if reason == reasonExpanded || reason == reasonChange {
		for _, id := range targets {
			m := known[slices.IndexFunc(known, func(m memory.Memory) bool { return m.ID == id })]
			before := m.Content
			if reason == reasonChange {
				before = d.former.remaining(p, m, self)
			}
			if before != "" {
				p = d.expanded(p, m, before)
			}
		}
	}
	if reason == reasonEarlier || reason == reasonDenialNew {
		p.Slot = ""
	}
	if kind == memory.OpAdd {
		p.Content = d.dated(p, known)
	}
	until := time.Time{}
	if kind == memory.OpAdd && reason == reasonOlder {
		until = heldSince(known, p.Slot)
	}
	d.write(p, kind, targets, reason, until)
	return nil
}

// nearness is the similarity of each related entry by id.
func nearness(r formation.Related) map[string]float64 {
	out := make(map[string]float64, len(r.Memories))
	for i, m := range r.Memories[:min(len(r.Memories), len(r.Similarity))] {
		out[m.ID] = r.Similarity[i]
	}
	return out
}

// heldSince is from when the slot has had the value that is known.
func heldSince(known []memory.Memory, slot string) time.Time {
	var since time.Time
	for _, m := range known {
		if m.Slot == slot && (since.IsZero() || m.ValidFrom.Before(since)) {
			since = m.ValidFrom
		}
	}
	return since
}

// proposal is a candidate with what was read off it.
type proposal struct {
	formation.Candidate
	// origin are the candidate's own sources, which name the entry also where it takes over the claims of another.
	origin []string
	at     time.Time
	self   string
	*reading
}

// known returns the entries that a candidate is held against: the related ones that still
// hold, nearest first, then those written before it.
func (d *decider) known(related []memory.Memory) []memory.Memory {
	out := make([]memory.Memory, 0, len(related)+len(d.fresh))
	seen := map[string]bool{}
	for _, m := range slices.Concat(related, d.fresh) {
		if d.closed[m.ID] || seen[m.ID] || m.Status != memory.StatusActive {
			continue
		}
		seen[m.ID] = true
		out = append(out, m)
	}
	return out
}

// choose returns the operation for a candidate, its targets and the reason.
func (d *decider) choose(p proposal, known []memory.Memory, similarity map[string]float64) (memory.OpKind, []string, string) {
	for _, m := range known {
		if d.repeats(p, m) {
			return memory.OpNone, []string{m.ID}, reasonKnown
		}
	}
	if id, ok := d.echoes(p, known); ok {
		return memory.OpNone, []string{id}, reasonEcho
	}
	if d.turns[p.Sources[0]].Role == memory.RoleAssistant {
		return memory.OpAdd, nil, reasonNew // what an assistant says changes nothing that is known
	}
	sets := p.sets(p.Slot)
	if p.Negates {
		if kind, targets, reason, ok := d.deny(p, known, sets); ok {
			return kind, targets, reason
		}
	}
	if p.Slot != "" && sets && !p.Negates {
		if kind, targets, reason := d.fill(p, known); kind != memory.OpAdd || reason != reasonNew {
			return kind, targets, reason
		}
	}
	if changed, adds := d.change(p, known, similarity); len(changed) > 0 {
		ids := make([]string, len(changed))
		for i, m := range changed {
			ids[i] = m.ID
		}
		switch {
		case !adds:
			return update(ids), ids, reasonChange
		case fits(p, changed[0]):
			return memory.OpUpdate, ids[:1], reasonExpanded
		}
	}
	if p.Negates && !sets {
		return memory.OpAdd, nil, reasonDenialNew
	}
	return memory.OpAdd, nil, reasonNew
}

// fill decides on a candidate that sets a slot.
func (d *decider) fill(p proposal, known []memory.Memory) (memory.OpKind, []string, string) {
	var holders []memory.Memory
	for _, m := range known {
		if m.Slot == p.Slot {
			holders = append(holders, m)
		}
	}
	birthday := strings.HasSuffix(p.Slot, "/birthday") // its date is the value, and says nothing of when that holds
	if p.aheadOfTime() && !birthday {
		return memory.OpAdd, nil, reasonEarlier
	}
	if len(holders) == 0 {
		return memory.OpAdd, nil, reasonNew
	}
	for _, m := range holders {
		if p.at.Before(m.ValidFrom) {
			if d.reading(m, p.self).slots[p.Slot].value == p.slots[p.Slot].value {
				return memory.OpNone, []string{m.ID}, reasonKnown
			}
			return memory.OpAdd, nil, reasonOlder
		}
		if p.endedBefore(m.ValidFrom) && !birthday {
			return memory.OpAdd, nil, reasonEarlier
		}
	}
	return d.replace(p, holders)
}

// replace decides between a new value and more about the same one.
func (d *decider) replace(p proposal, holders []memory.Memory) (memory.OpKind, []string, string) {
	same, wider := true, true
	ids := make([]string, len(holders))
	for i, m := range holders {
		ids[i] = m.ID
		old := d.reading(m, p.self)
		same = same && old.slots[p.Slot].value == p.slots[p.Slot].value
		wider = wider && subset(old.stems, p.stems)
	}
	corrects := correction.MatchString(p.marked) || p.Negates
	switch {
	case same && !wider:
		return memory.OpAdd, nil, reasonNew
	case same:
		return update(ids), ids, reasonRefined
	case addition.MatchString(p.marked), p.slots[p.Slot].many && !corrects:
		return memory.OpAdd, nil, reasonAnother
	}
	return update(ids), ids, reasonValue
}

func update(targets []string) memory.OpKind {
	if len(targets) > 1 {
		return memory.OpMerge
	}
	return memory.OpUpdate
}

// write appends the operation and remembers what it wrote and closed.
func (d *decider) write(p proposal, kind memory.OpKind, targets []string, reason string, until time.Time) {
	op := memory.Operation{Kind: kind, Targets: targets, Sources: slices.Clone(p.Sources), Reason: reason, Until: until}
	if kind == memory.OpAdd || kind == memory.OpUpdate || kind == memory.OpMerge {
		entry := d.entry(p)
		op.New, op.Anew = &entry, kind != memory.OpAdd // what a new version keeps is among its sources already
		d.fresh = append(d.fresh, entry)
		d.closed[entry.ID] = !until.IsZero()
	}
	if kind == memory.OpDelete {
		op.At = p.at
	}
	if kind != memory.OpNone {
		for _, id := range targets {
			d.closed[id] = true
		}
	}
	d.ops = append(d.ops, op)
}

func (d *decider) entry(p proposal) memory.Memory {
	sources := slices.Clone(p.Sources)
	slices.Sort(sources)
	return memory.Memory{
		ID: memory.DeriveID(d.scope, p.origin, p.Ordinal), Kind: p.Kind, Content: p.Content, Topic: p.Topic, Slot: p.Slot,
		Keywords: slices.Clone(p.Keywords), EventTime: p.EventTime, ValidFrom: p.at, Status: memory.StatusActive,
		Sources: slices.Compact(sources), SessionID: d.session.ID, Strategy: d.former.identity.Strategy,
		PolicyVersion: d.former.identity.PolicyVersion, Vector: p.Vector,
	}
}
