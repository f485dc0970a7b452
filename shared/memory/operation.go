package memory

import "time"

// OpKind is the kind of an operation.
type OpKind string

// The operations on entries. All strategies use these.
const (
	OpAdd    OpKind = "ADD"
	OpUpdate OpKind = "UPDATE"
	OpMerge  OpKind = "MERGE"
	OpDelete OpKind = "DELETE"
	OpNone   OpKind = "NONE"
)

// OpRelease lets recalls use quarantined entries. Operators request it. No policy decides it.
const OpRelease OpKind = "RELEASE"

// OpErase announces the erasure of all data of a user. No policy decides it.
const OpErase OpKind = "ERASE"

// Operation is one decision about one user's bank.
type Operation struct {
	// Kind is the kind of the operation.
	Kind OpKind `json:"kind"`
	// Targets are the entries that the operation changes: one for UPDATE, one or more for MERGE, DELETE and
	// RELEASE, and zero for ADD. For NONE it is the entry that already says it, or empty. A target may be the entry
	// that an earlier operation of the same list wrote.
	Targets []string `json:"targets,omitempty"`
	// New is the entry to write for ADD, UPDATE and MERGE, and nil otherwise. The decision sets its ID, content,
	// kind, sources and times. Plan sets versions and predecessors.
	New *Memory `json:"new,omitempty"`
	// Sources are the source turns of the decision, at least one.
	Sources []string `json:"sources"`
	// Anew says that New repeats no content of its targets, as a quotation that replaces another. It is made from
	// Sources alone. Every other new version also has the turns of its targets as sources.
	Anew bool `json:"anew,omitempty"`
	// Rest says that New is the remaining text of its target, in the target's words. It is made from the target's
	// turns alone.
	Rest bool `json:"rest,omitempty"`
	// At is the time of the statement that closes the targets. They no longer hold from then on. Zero means the
	// time of application for a DELETE, and the time of New for an UPDATE or MERGE. Only a Rest keeps the time of
	// its target, and so needs another.
	At time.Time `json:"at,omitzero"`
	// Until is for an ADD of a statement that had ceased to hold earlier, as in imported history. The entry is
	// written as superseded, valid until then. Zero means that it holds.
	Until time.Time `json:"until,omitzero"`
	// Reason gives the cause in few words, for attribution. It has no conversation text.
	Reason string `json:"reason,omitempty"`
}
