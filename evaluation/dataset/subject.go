package dataset

import (
	"slices"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// shortAnswer is how many content words an answer has at most to be looked for in memories.
const shortAnswer = 3

// Subject is one user's conversations with what is known to be true of them.
type Subject struct {
	// Scope is whose bank is formed.
	Scope memory.Scope
	// Sessions in order of time.
	Sessions []Session
	// Questions that may be asked afterwards.
	Questions []Question
	// Targets are the operations that should be done, in the order of the turns that state them; empty when not known.
	Targets []Target
}

// TurnIDs are the ids of all that was said.
func (s Subject) TurnIDs() map[string]bool {
	out := map[string]bool{}
	for _, session := range s.Sessions {
		for _, t := range session.Turns {
			out[t.ID] = true
		}
	}
	return out
}

// Assisted reports whether an assistant takes part in the conversations.
func (s Subject) Assisted() bool {
	return slices.ContainsFunc(s.Sessions, func(one Session) bool {
		return slices.ContainsFunc(one.Turns, func(t memory.Turn) bool { return t.Role == memory.RoleAssistant })
	})
}

// End is when the last session ended.
func (s Subject) End() time.Time {
	var last time.Time
	for _, session := range s.Sessions {
		if session.End().After(last) {
			last = session.End()
		}
	}
	return last
}

// Question is something asked of a subject's memory.
type Question struct {
	// Text is what is asked.
	Text string
	// Category is the benchmark's own name of the question's type; LoCoMo's numbers are named as its paper does.
	Category string
	// Answer is the right one; of a multiple choice it is one of Options. Of an unanswerable question it is what
	// the file says of it: an answer that corrects the question, an explanation, or nothing.
	Answer string
	// Options are what a multiple choice may be answered with, without their letters; empty for an open question.
	Options []string
	// Evidence are the turns that state the answer; empty where the file names none.
	Evidence []string
	// EvidenceSessions are the sessions that state it, where the file names sessions, also if it names turns as well.
	EvidenceSessions []string
	// SingleHop says that one turn holds the answer; only such questions are asked for containment.
	SingleHop bool
	// Unanswerable says that the conversations do not state what is asked: the right reply is to say so. Evidence is then
	// what misleads.
	Unanswerable bool
	// AskedAt is the asker's now: sessions that ended by then are what may be known. Zero means after the last session.
	AskedAt time.Time
}

// HasEvidence reports whether it can be answered, and from which turns is known.
func (q Question) HasEvidence() bool { return !q.Unanswerable && len(q.Evidence) > 0 }

// IsShort reports whether a short answer is asked for that one turn holds: containment is measured on these.
func (q Question) IsShort() bool {
	n := len(text.ContentStems(q.Answer))
	return q.HasEvidence() && q.SingleHop && n > 0 && n <= shortAnswer
}

// EvidenceTurns are the turns of evidence, each once, in the order of their ids.
func (q Question) EvidenceTurns() []string {
	return slices.Compact(slices.Sorted(slices.Values(q.Evidence)))
}

// Target is one operation of the ground truth.
type Target struct {
	// Turns state it; At is when.
	Turns []string
	At    time.Time
	// Operation is what it does to the bank.
	Operation memory.OpKind
	// Predecessor is the index of the target it takes the place of, or takes back; -1 for none.
	Predecessor int
	// Ends are the targets that hold no longer with it, the predecessor first.
	Ends []int
	// Words of the statement; Value is what distinguishes it from others of its slot, empty when it has none.
	Words []string
	Value string
}

// IsUpdate reports whether it closes what another target stated.
func (t Target) IsUpdate() bool {
	return t.Predecessor >= 0 && (t.Operation == memory.OpUpdate || t.Operation == memory.OpMerge || t.Operation == memory.OpDelete)
}
