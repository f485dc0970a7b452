// Package guard wraps every former, whatever its strategy and policy. It protects the bank by the permissions of a
// turn, and never by the wording. An assistant's statement, or a statement that a user only passes on, cannot change
// the user's memory. Its entry names the speaker. Clauses that look like an attack are formed apart from the rest of
// their turn. Their former sees no known entry, and its output goes into quarantine. The guard adds no entry that the
// bank already has word for word, no assistant's echo of known facts, and nothing of the recalled memories that a
// program puts before a user's words. A user's request to forget is no entry. The guard retracts the entries that it
// surely names, and quarantines an unclear one.
package guard

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/forget"
	"github.com/mneme-memory/mneme/shared/formation/quarantine"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// Reasons of operations that were not carried out as they were decided.
const (
	reasonOthers = "others' words change nothing"
	reasonMany   = "one turn deletes more than a turn may"
	reasonKnown  = "already known, word for word"
	// reasonUnusable marks a text for which a model gave no usable answer.
	reasonUnusable = "no usable answer: kept as it was said"
)

// New returns a former behind the guard.
func New(f formation.Former) formation.Former { return former{f} }

type former struct{ formation.Former }

var _ formation.Divisible = former{}

// Division implements formation.Divisible with the division of the wrapped former.
func (f former) Division() formation.Division {
	if d, ok := f.Former.(formation.Divisible); ok {
		return d.Division()
	}
	return formation.Division{}
}

var _ formation.Reader = former{}

// Reads implements formation.Reader with the value of the wrapped former; 0 where it reads no context.
func (f former) Reads() int {
	if r, ok := f.Former.(formation.Reader); ok {
		return r.Reads()
	}
	return 0
}

// Extract implements formation.Former. Clauses that look like an attack are extracted apart, so that nothing else is
// read in their light. Neither recalled memories nor requests to forget are extracted. A request is a candidate of its
// own.
func (f former) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	turns, at := in.Turns, in.Positions()
	var requests map[string][]forget.Request
	in.Turns, requests = statements(turns)
	out := requested(turns, requests)
	if len(in.Turns) > 0 || len(turns) == 0 {
		said, err := f.extract(ctx, in)
		if err != nil {
			return nil, err
		}
		out = append(said, out...)
	}
	if len(requests) > 0 {
		slices.SortStableFunc(out, func(a, b formation.Candidate) int {
			return firstPosition(at, a.Sources) - firstPosition(at, b.Sources)
		})
	}
	return out, nil
}

// extract extracts the clauses that look like an attack apart from the others.
func (f former) extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	in.Context, _ = statements(in.Context)
	in.Context = harmless(in.Context, quarantine.Turns(in.Context)) // nothing is read in their light, either
	odd := quarantine.Turns(in.Turns)
	if len(odd) == 0 {
		return f.Former.Extract(ctx, in)
	}
	rest := in
	rest.Turns = harmless(in.Turns, odd)
	out, err := f.Former.Extract(ctx, rest)
	if err != nil {
		return nil, err
	}
	rest.Turns, rest.Context, rest.Known = suspectTurns(in.Turns, odd), nil, nil
	apart, err := f.Former.Extract(ctx, rest)
	wrong := slices.ContainsFunc(apart, func(c formation.Candidate) bool { return c.Fault != "" })
	if wrong || errors.Is(err, fault.ErrUnusableAnswer) { // an attack must not cost the rest of the session
		apart, err = spoken(rest.Turns), nil
	}
	if err != nil {
		return nil, err
	}
	for i := range apart {
		apart[i].Quarantine = reasonOf(apart[i].Sources, odd)
	}
	at := in.Positions()
	out = append(out, apart...)
	slices.SortStableFunc(out, func(a, b formation.Candidate) int {
		return firstPosition(at, a.Sources) - firstPosition(at, b.Sources)
	})
	return out, nil
}

// Decide implements formation.Former.
func (f former) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	whole := in
	in.Session.Turns, _ = statements(in.Session.Turns)
	in.Window, _ = statements(in.Window)
	in.Related = nil
	var asked []formation.Related
	for _, r := range whole.Related {
		if r.Candidate.Forgets == nil {
			in.Related = append(in.Related, r)
		} else {
			asked = append(asked, r)
		}
	}
	var v formation.Verdict
	if len(in.Related) > 0 || len(asked) == 0 {
		var err error
		if v, err = f.decide(ctx, in); err != nil || len(v.Lookups) > 0 {
			return v, err
		}
	}
	v.Operations = append(v.Operations, retract(whole, asked, v.Operations, f.Version())...)
	for _, r := range asked {
		v.Retire = append(v.Retire, r.Candidate.Sources...)
	}
	return v, nil
}

// decide decides on the clauses that look like an attack apart from the others.
func (f former) decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	in.Session.Context, _ = statements(in.Session.Context)
	in.Session.Context = harmless(in.Session.Context, quarantine.Turns(in.Session.Context))
	odd := quarantine.Turns(in.Session.Turns)
	rest := in
	rest.Session.Turns, rest.Window = harmless(in.Session.Turns, odd), harmless(in.Window, quarantine.Turns(in.Window))
	rest.Related = slices.DeleteFunc(slices.Clone(in.Related), func(r formation.Related) bool { return suspect(r, odd) })
	var v formation.Verdict
	if len(rest.Related) > 0 || len(odd) == 0 {
		var err error
		if v, err = f.Former.Decide(ctx, rest); err != nil || len(v.Lookups) > 0 {
			return v, err
		}
		v = newVoices(rest, odd).checked(v, shown(in), in.Core)
		suspectContents(v.Operations)
	}
	if len(rest.Related) < len(in.Related) {
		apart, err := f.quarantineBundle(ctx, in, odd)
		if err != nil {
			return formation.Verdict{}, err
		}
		v.Operations = append(v.Operations, renamed(in.Session.Scope, apart, v.Operations)...)
	}
	return v, nil
}

// suspect reports whether a candidate comes from clauses that look like an attack, or from a turn with only such
// clauses.
func suspect(r formation.Related, odd map[string]quarantine.Found) bool {
	return r.Candidate.Quarantine != "" || slices.ContainsFunc(r.Candidate.Sources, func(id string) bool {
		found, ok := odd[id]
		return ok && found.Rest+found.RestCaption == ""
	})
}

// suspectContents quarantines output that reads like an attack, whatever the turns contain: a model may summarise an
// order. It adds a replacement as a separate entry, so that the replaced entries stay in recall.
func suspectContents(ops []memory.Operation) {
	for i, op := range ops {
		if op.New == nil {
			continue
		}
		if found, ok := quarantine.Content(op.New.Content); ok {
			m := *op.New
			m.Quarantine = found.Reason
			ops[i].Kind, ops[i].Targets, ops[i].Anew, ops[i].New = memory.OpAdd, nil, false, &m
		}
	}
}

// apartFrom is the first ordinal of the separate entries. It prevents equal ids for entries of the same turns'
// harmless clauses.
const apartFrom = 500

// renamed gives operations other ids where another operation writes an entry by theirs.
func renamed(scope memory.Scope, ops, others []memory.Operation) []memory.Operation {
	taken := map[string]bool{}
	for _, op := range others {
		if op.New != nil {
			taken[op.New.ID] = true
		}
	}
	for i, op := range ops {
		if op.New == nil {
			continue
		}
		for n := apartFrom; taken[ops[i].New.ID]; n++ {
			m := *op.New
			m.ID, m.Links = memory.DeriveID(scope, op.Sources, n), nil
			ops[i].New = &m
		}
		taken[ops[i].New.ID] = true
	}
	return ops
}

// maxAsked is how often a former may look something up about an attack.
const maxAsked = 16

var errAsks = errors.New("the former requests lookups without end")

// quarantineBundle decides on text that looks like an attack. The former sees no known entry, so it can name none. Its
// output goes into quarantine.
func (f former) quarantineBundle(
	ctx context.Context, in formation.Bundle, odd map[string]quarantine.Found,
) ([]memory.Operation, error) {
	b := formation.Bundle{Session: in.Session}
	for _, r := range in.Related {
		if suspect(r, odd) {
			b.Related = append(b.Related, formation.Related{Candidate: r.Candidate})
		}
	}
	b.Session.Turns, b.Session.Context = suspectTurns(in.Session.Turns, odd), nil
	for range maxAsked {
		v, err := f.Former.Decide(ctx, b)
		if errors.Is(err, fault.ErrUnusableAnswer) || len(v.Failed) > 0 {
			return quarantined(f.asSpoken(b), odd), nil
		}
		if err != nil {
			return nil, err
		}
		if len(v.Lookups) == 0 {
			return quarantined(v.Operations, odd), nil
		}
		b.Memo, b.Found = v.Memo, make([]formation.Found, len(v.Lookups))
	}
	return nil, errAsks
}

// spoken are turns as candidates, word for word.
func spoken(turns []memory.Turn) []formation.Candidate {
	out := make([]formation.Candidate, len(turns))
	for i, t := range turns {
		said := strings.TrimSpace(t.Text + " " + t.Caption)
		out[i] = formation.Candidate{Kind: memory.KindFact, Content: t.Speaker + " said: " + said, Sources: []string{t.ID}}
	}
	return out
}

// asSpoken adds the turns of a bundle word for word.
func (f former) asSpoken(in formation.Bundle) []memory.Operation {
	strategy, _, _ := strings.Cut(f.Version(), "/")
	var out []memory.Operation
	for i, c := range spoken(in.Session.Turns) {
		m := memory.Memory{
			ID: memory.DeriveID(in.Session.Scope, c.Sources, 0), Kind: c.Kind, Content: c.Content,
			ValidFrom: in.Session.Turns[i].Time,
			Sources:   c.Sources, SessionID: in.Session.ID, Strategy: strategy, PolicyVersion: f.Version(),
		}
		out = append(out, memory.Operation{Kind: memory.OpAdd, New: &m, Sources: c.Sources, Reason: reasonUnusable})
	}
	return out
}

// quarantined turns operations into additions of quarantined entries; none builds on another.
func quarantined(ops []memory.Operation, odd map[string]quarantine.Found) []memory.Operation {
	var out []memory.Operation
	for _, op := range ops {
		if op.New != nil {
			op.Kind, op.Targets = memory.OpAdd, nil
			op.New.Quarantine = reasonOf(op.Sources, odd)
			out = append(out, op)
			continue
		}
		out = append(out, memory.Operation{Kind: memory.OpNone, Sources: op.Sources, Reason: op.Reason})
	}
	return out
}

// once turns an addition into NONE where the bank has the same words of the same speaker. It keeps an addition that
// another operation builds on.
func once(ops []memory.Operation, known []memory.Memory) []memory.Operation {
	built, there := targets(ops), map[string]string{}
	for _, m := range known {
		if !built[m.ID] {
			there[wordsOf(m)] = m.ID
		}
	}
	for i, op := range ops {
		if op.New == nil {
			continue
		}
		words := wordsOf(*op.New)
		id, repeated := there[words]
		if repeated && op.Kind == memory.OpAdd && op.Until.IsZero() && !built[op.New.ID] {
			ops[i] = memory.Operation{Kind: memory.OpNone, Targets: []string{id}, Sources: op.Sources, Reason: reasonKnown}
			continue
		}
		if !built[op.New.ID] && op.Until.IsZero() {
			there[words] = op.New.ID
		}
	}
	return ops
}

// wordsOf returns the text and the speaker of an entry.
func wordsOf(m memory.Memory) string { return m.Speaker + "\x00" + text.Canonical(m.Content) }

// targets are the entries that operations act on.
func targets(ops []memory.Operation) map[string]bool {
	out := map[string]bool{}
	for _, op := range ops {
		for _, id := range op.Targets {
			out[id] = op.Kind != memory.OpNone || out[id]
		}
	}
	return out
}

// harmless are the turns without the clauses that look like an attack.
func harmless(turns []memory.Turn, odd map[string]quarantine.Found) []memory.Turn {
	var out []memory.Turn
	for _, t := range turns {
		if found, ok := odd[t.ID]; ok {
			if t, ok = found.Harmless(t); !ok {
				continue
			}
		}
		out = append(out, t)
	}
	return out
}

// suspectTurns are the turns that have such clauses, with these alone.
func suspectTurns(turns []memory.Turn, odd map[string]quarantine.Found) []memory.Turn {
	var out []memory.Turn
	for _, t := range turns {
		if found, ok := odd[t.ID]; ok {
			out = append(out, found.Suspect(t))
		}
	}
	return out
}

// reasonOf returns the reason for the quarantine of entries from some turns.
func reasonOf(sources []string, odd map[string]quarantine.Found) string {
	reason := ""
	for _, id := range sources {
		reason = max(reason, odd[id].Reason)
	}
	return reason
}

func some[V any](ids []string, of map[string]V) bool {
	return slices.ContainsFunc(ids, func(id string) bool { _, ok := of[id]; return ok })
}

// firstPosition is the position of the first source.
func firstPosition(at map[string]int, sources []string) int {
	least := len(at)
	for _, id := range sources {
		if p, ok := at[id]; ok {
			least = min(least, p)
		}
	}
	return least
}
