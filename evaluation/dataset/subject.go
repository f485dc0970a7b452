package dataset

import (
	"slices"
	"time"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// shortAnswer is the highest number of content words of a short answer. Only short answers are searched for in
// memories.
const shortAnswer = 3

// Subject is one user's conversations with their ground truth.
type Subject struct {
	// Scope identifies the subject's bank.
	Scope memory.Scope
	// Sessions are in order of time.
	Sessions []Session
	// Questions may be asked after the sessions.
	Questions []Question
	// Targets are the expected operations, in the order of the turns that state them. Empty means unknown.
	Targets []Target
}

// TurnIDs returns the ids of all turns.
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

// End returns the end of the last session.
func (s Subject) End() time.Time {
	var last time.Time
	for _, session := range s.Sessions {
		if session.End().After(last) {
			last = session.End()
		}
	}
	return last
}

// Question is a question to a subject's memory.
type Question struct {
	// Text is the question.
	Text string
	// Category is the benchmark's name of the question's type. LoCoMo's numbers get the names from its paper.
	Category string
	// Answer is the right answer; for a multiple choice it is one of Options. For an unanswerable question it is the
	// file's text: a correction of the question, an explanation, or nothing.
	Answer string
	// Options are the possible answers of a multiple choice, without their letters. Empty means an open question.
	Options []string
	// Evidence are the turns that state the answer. It is empty if the file names no turns.
	Evidence []string
	// EvidenceSessions are the sessions that state the answer, if the file names sessions. The file may also name
	// turns.
	EvidenceSessions []string
	// SingleHop says that one turn contains the answer. Containment is measured on such questions only.
	SingleHop bool
	// Unanswerable says that the conversations do not contain the answer, so the right reply is an abstention.
	// Evidence then holds the misleading turns.
	Unanswerable bool
	// AskedAt is the time of the question. Only sessions that ended by then may be used. Zero means after the last
	// session.
	AskedAt time.Time
}

// HasEvidence reports whether the question is answerable and names evidence turns.
func (q Question) HasEvidence() bool { return !q.Unanswerable && len(q.Evidence) > 0 }

// IsShort reports whether one turn contains the answer and the answer is short. Containment is measured on these
// questions.
func (q Question) IsShort() bool {
	n := len(text.ContentStems(q.Answer))
	return q.HasEvidence() && q.SingleHop && n > 0 && n <= shortAnswer
}

// EvidenceTurns returns the evidence turns, each once, sorted by id.
func (q Question) EvidenceTurns() []string {
	return slices.Compact(slices.Sorted(slices.Values(q.Evidence)))
}

// Target is one operation of the ground truth.
type Target struct {
	// Turns state the target; At is their time.
	Turns []string
	At    time.Time
	// Operation is the expected operation on the bank.
	Operation memory.OpKind
	// Predecessor is the index of the target that this one replaces or retracts; -1 for none.
	Predecessor int
	// Ends are the targets that this one ends, the predecessor first.
	Ends []int
	// Words are the words of the statement. Value distinguishes it from other statements of its slot; it is empty
	// without a slot value.
	Words []string
	Value string
}

// IsUpdate reports whether the target closes the statement of another target.
func (t Target) IsUpdate() bool {
	return t.Predecessor >= 0 && (t.Operation == memory.OpUpdate || t.Operation == memory.OpMerge ||
		t.Operation == memory.OpDelete)
}
