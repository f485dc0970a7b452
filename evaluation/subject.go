package evaluation

import (
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Subject is one user's conversations with what is known to be true of them.
type Subject struct {
	// Scope is whose bank is formed.
	Scope memory.Scope
	// Sessions in order of time.
	Sessions []dataset.Session
	// Questions that may be asked afterwards.
	Questions []Question
	// Targets are the operations that should be done, in order of being told; empty when not known.
	Targets []Target
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
	// Evidence are the turns that tell the answer; empty where the file names none.
	Evidence []string
	// EvidenceSessions are the sessions that tell it, where the file names sessions, also if it names turns as well.
	EvidenceSessions []string
	// SingleHop says that one turn holds the answer; only such questions are asked for containment.
	SingleHop bool
	// Unanswerable says that the conversations do not tell what is asked: the right reply is to say so. Evidence is then
	// what misleads.
	Unanswerable bool
	// AskedAt is the asker's now: sessions that ended by then are what may be known. Zero means after the last session.
	AskedAt time.Time
}

// Target is one operation of the ground truth.
type Target struct {
	// Turns tell it; At is when.
	Turns []string
	At    time.Time
	// Operation is what it does to the bank.
	Operation memory.OpKind
	// Predecessor is the index of the target it takes the place of, or takes back; -1 for none.
	Predecessor int
	// Words of the statement; Value is what tells it from others of its slot, empty when it has none.
	Words []string
	Value string
}

// Formed is what a run left behind.
type Formed struct {
	// Decisions of the filter by turn id; a turn without one counts as kept.
	Decisions map[string]bool
	// Entries of the bank in every state.
	Entries []memory.Memory
	// Operations in the order they were decided. See OperationsOf where only the bank is known.
	Operations []memory.Operation
	// DeadLetters counts the batches of turns that could not be formed.
	DeadLetters int
}

// OperationsOf reads operations off the entries of a bank: an entry with predecessors updated or merged them, a
// retracted one was denied by the turns said at its end. NONE leaves no trace.
func OperationsOf(entries []memory.Memory, turns []memory.Turn) []memory.Operation {
	said := map[int64][]string{}
	for _, t := range turns {
		said[t.Time.UnixMilli()] = append(said[t.Time.UnixMilli()], t.ID)
	}
	var out []memory.Operation
	for i := range entries {
		m := entries[i]
		op := memory.Operation{Kind: memory.OpAdd, New: &m, Targets: m.Predecessors, Sources: m.Sources}
		switch len(m.Predecessors) {
		case 0:
		case 1:
			op.Kind = memory.OpUpdate
		default:
			op.Kind = memory.OpMerge
		}
		out = append(out, op)
		if m.Status == memory.StatusRetracted {
			out = append(out, memory.Operation{Kind: memory.OpDelete, Targets: []string{m.ID}, Sources: said[m.ValidTo.UnixMilli()], At: m.ValidTo})
		}
	}
	return out
}
