package evaluation

import (
	"time"

	"github.com/mneme-memory/mneme/shared/dataset"
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

// Question is something asked after the conversations.
type Question struct {
	// Answer is the right one.
	Answer string
	// Evidence are the turns that tell it.
	Evidence []string
	// SingleHop says that one turn holds the answer; only such questions are asked for containment.
	SingleHop bool
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
