package guard

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/forget"
	"github.com/mneme-memory/mneme/shared/memory"
)

// statements returns the turns without recalled memories and without requests to forget. It drops a turn without other
// words. requests has the requests by the turn.
func statements(turns []memory.Turn) (out []memory.Turn, requests map[string][]forget.Request) {
	requests = map[string][]forget.Request{}
	for _, t := range turns {
		said := t.Text
		if t.Role == memory.RoleUser {
			t.Text = withoutRecalled(t.Text)
			var found []forget.Request
			if t.Text, found = forget.Read(t); len(found) > 0 {
				requests[t.ID] = found
			}
		}
		if t.Text == "" && said != "" && t.Caption == "" {
			continue
		}
		out = append(out, t)
	}
	return out, requests
}

// quarantineForget is the reason to quarantine a request that does not surely name a memory. An operator sees it.
const quarantineForget = "forget"

// Reasons of the operations of requests to forget.
const (
	reasonForget    = "the user asks to forget it"
	reasonForgotten = "a request to forget names no known memory"
)

// requested are the candidates of requests to forget. Their contents find the named entries.
func requested(turns []memory.Turn, requests map[string][]forget.Request) []formation.Candidate {
	var out []formation.Candidate
	for _, t := range turns {
		for _, r := range requests[t.ID] {
			out = append(out, formation.Candidate{
				Kind: memory.KindFact, Content: r.Object, Speaker: t.Speaker, Forgets: &r, Sources: []string{t.ID},
			})
		}
	}
	return out
}

// retract returns the operations of the requests to forget: the deletion of the entries that a request surely names. An
// entry may be one that the other operations write. Else a firm request goes into quarantine.
func retract(
	in formation.Bundle, asked []formation.Related, ops []memory.Operation, version string,
) []memory.Operation {
	closed, fresh, at := map[string]bool{}, []memory.Memory(nil), in.Session.Positions()
	for _, op := range ops {
		for _, id := range op.Targets {
			closed[id] = closed[id] || op.Kind != memory.OpNone
		}
		if op.New != nil && op.New.Quarantine == "" && op.Until.IsZero() {
			m := *op.New
			m.Status = memory.StatusActive
			fresh = append(fresh, m)
		}
	}
	var out []memory.Operation
	for _, r := range asked {
		c := r.Candidate
		known := slices.Clone(r.Memories)
		for _, m := range fresh {
			if firstPosition(at, m.Sources) < firstPosition(at, c.Sources) {
				known = append(known, m)
			}
		}
		var named []memory.Memory
		for _, m := range c.Forgets.Find(ofSpeaker(known, c.Speaker)) {
			if !closed[m.ID] {
				closed[m.ID] = true
				named = append(named, m)
			}
		}
		if len(named) > 0 {
			for _, m := range known {
				if isReply(m, in.Session.Turns) && c.Forgets.Mentions(m) && !closed[m.ID] {
					closed[m.ID] = true
					named = append(named, m)
				}
			}
		}
		out = append(out, operationOf(in, c, named, version))
	}
	return out
}

// isReply reports whether an entry is talk of an assistant.
func isReply(m memory.Memory, turns []memory.Turn) bool {
	if m.Tier != memory.TierTalk {
		return false
	}
	return m.Speaker == string(memory.RoleAssistant) || slices.ContainsFunc(turns, func(t memory.Turn) bool {
		return t.Role == memory.RoleAssistant && t.Speaker != "" && t.Speaker == m.Speaker
	})
}

// ofSpeaker returns the entries in a speaker's words, and those in the third person.
func ofSpeaker(known []memory.Memory, speaker string) []memory.Memory {
	var out []memory.Memory
	for _, m := range known {
		if m.Speaker == "" || m.Speaker == speaker || speaker == "" && m.Speaker == string(memory.RoleUser) {
			out = append(out, m)
		}
	}
	return out
}

// operationOf is the operation of one request. A retracted entry counts as never valid, so that no recall shows it.
func operationOf(in formation.Bundle, c formation.Candidate, named []memory.Memory, version string) memory.Operation {
	if len(named) > 0 {
		op := memory.Operation{Kind: memory.OpDelete, Sources: c.Sources, Reason: reasonForget, At: named[0].ValidFrom}
		for _, m := range named {
			op.Targets = append(op.Targets, m.ID)
			if m.ValidFrom.Before(op.At) {
				op.At = m.ValidFrom
			}
		}
		return op
	}
	if !c.Forgets.Firm {
		return memory.Operation{Kind: memory.OpNone, Sources: c.Sources, Reason: reasonForgotten}
	}
	strategy, _, _ := strings.Cut(version, "/")
	m := memory.Memory{
		ID: memory.DeriveID(in.Session.Scope, c.Sources, c.Ordinal), Kind: memory.KindFact,
		Content: c.Forgets.Said, Speaker: c.Speaker, Sources: c.Sources, SessionID: in.Session.ID,
		Strategy: strategy, PolicyVersion: version, Quarantine: quarantineForget,
	}
	if i, ok := in.Session.Positions()[c.Sources[0]]; ok {
		m.ValidFrom = in.Session.Turns[i].Time
	}
	return memory.Operation{Kind: memory.OpAdd, New: &m, Sources: c.Sources, Reason: reasonForgotten}
}
