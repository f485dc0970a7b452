package membuilder

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

var (
	// occasion is what a habit follows: "When Ana cannot sleep, Ana reads".
	occasion = regexp.MustCompile(`^(?:When|Whenever|Every time|Each time|Before|After) ([^,]{3,80}), (?:[\p{L}' -]+ )?\p{L}+`)
	// purpose is what steps are for: "To make tea, Ana first boils water, then ...".
	purpose    = regexp.MustCompile(`^(?:To|In order to) ([^,]{3,80}), `)
	firstStep  = regexp.MustCompile(`(?i)\b(?:first|start(?:s)? (?:by|with)|begin(?:s)? (?:by|with))\b`)
	secondStep = regexp.MustCompile(`(?i)\b(?:then|next|after that|afterwards|finally|lastly|second)\b`)
	// notDone tells wishes and single occasions from what is done.
	notDone = regexp.MustCompile(`(?i)\b(?:will|would|wants?|hopes?|wish(?:es)?|plans?|might|should|could|used to|` +
		`yesterday|tomorrow|was|were|had|did|said|asked|told)\b`)
)

// procedureMark stands in the slots of procedures.
const procedureMark = "/procedure:"

// maxKeyStems bounds the name of a procedure.
const maxKeyStems = 6

func isProcedure(slot string) bool { return strings.Contains(slot, procedureMark) }

// procedureOf returns the slot of a statement that tells how its speaker does something, or "". Only what is sure counts: an occasion with
// what follows on it, or steps with what they are for.
func procedureOf(c formation.Candidate, t memory.Turn) string {
	if t.Role == memory.RoleAssistant || c.Kind == memory.KindEpisodic || c.Negates || isProcedure(c.Slot) || notDone.MatchString(c.Content) {
		return ""
	}
	m := occasion.FindStringSubmatch(c.Content)
	if m == nil && firstStep.MatchString(c.Content) && secondStep.MatchString(c.Content) {
		m = purpose.FindStringSubmatch(c.Content)
	}
	if m == nil {
		return ""
	}
	speaker := strings.ToLower(text.OneLine(t.Speaker))
	stems := text.ContentStems(m[1])
	stems = slices.DeleteFunc(stems, func(s string) bool { return s == text.Stem(speaker) })
	if len(stems) == 0 {
		return ""
	}
	return speaker + procedureMark + strings.Join(stems[:min(len(stems), maxKeyStems)], " ")
}

// version decides on a procedure: told again it is known, told anew it is the next version of the stored one. The new version is
// complete as it was told, and the old one stays as the past.
func (s *sorter) version(r formation.Related, session formation.Session, policy string) memory.Operation {
	c := r.Candidate
	at := s.turns[c.Sources[0]].Time
	sources := slices.Clone(c.Sources)
	slices.Sort(sources)
	op := memory.Operation{Kind: memory.OpAdd, Sources: slices.Compact(sources), Reason: "new"}
	if m, ok := s.stored(r); ok {
		switch {
		case sameWords(m.Content, c.Content):
			op.Kind, op.Targets, op.Reason = memory.OpNone, []string{m.ID}, reasonKnown
			return op
		case at.Before(m.ValidFrom):
			op.Until, op.Reason = m.ValidFrom, "older than what is known"
		default:
			s.replace(&op, memory.OpUpdate, m, reasonSteps)
		}
	}
	op.New = &memory.Memory{
		ID: memory.DeriveID(session.Scope, c.Sources, c.Ordinal), Kind: memory.KindProcedural, Content: c.Content, Speaker: c.Speaker, Topic: c.Topic, Slot: c.Slot,
		Keywords: slices.Clone(c.Keywords), EventTime: c.EventTime, ValidFrom: at, Status: memory.StatusActive, Sources: op.Sources,
		SessionID: session.ID, Strategy: Name, PolicyVersion: policy, Vector: c.Vector,
	}
	if op.Until.IsZero() {
		s.steps[c.Slot] = *op.New
	}
	return op
}

// stored is the procedure of a candidate's slot: the one this session told last, else the one in the bank.
func (s *sorter) stored(r formation.Related) (memory.Memory, bool) {
	if m, ok := s.steps[r.Candidate.Slot]; ok {
		return m, true
	}
	for _, m := range s.free(r, memory.KindProcedural) {
		if m.Slot == r.Candidate.Slot {
			return m, true
		}
	}
	return memory.Memory{}, false
}

func sameWords(a, b string) bool {
	return slices.Equal(text.ContentStems(a), text.ContentStems(b))
}
