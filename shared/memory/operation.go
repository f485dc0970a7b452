package memory

import "time"

// OpKind is what an operation does.
type OpKind string

// The operations on entries (design vocabulary of all strategies).
const (
	OpAdd    OpKind = "ADD"
	OpUpdate OpKind = "UPDATE"
	OpMerge  OpKind = "MERGE"
	OpDelete OpKind = "DELETE"
	OpNone   OpKind = "NONE"
)

// OpRelease lets quarantined entries be recalled. Operators ask for it; no policy decides it.
const OpRelease OpKind = "RELEASE"

// OpErase is announced when everything of a user was erased. No policy decides it.
const OpErase OpKind = "ERASE"

// Operation is one decision about one user's bank.
type Operation struct {
	// Kind is what is done.
	Kind OpKind `json:"kind"`
	// Targets are the entries acted on: one for UPDATE, one or more for MERGE, DELETE and RELEASE,
	// none for ADD, and the entry that already says it (or nothing) for NONE. A target may be
	// the entry that an earlier operation of the same list wrote.
	Targets []string `json:"targets,omitempty"`
	// New is the entry to write for ADD, UPDATE and MERGE; nil otherwise. Its ID, content, kind,
	// sources and times are set by the decision; versions and predecessors by Plan.
	New *Memory `json:"new,omitempty"`
	// Sources are the turns that the decision came from; at least one.
	Sources []string `json:"sources"`
	// Anew says that New tells nothing of what its targets told, as a quotation that takes the place of another: it is made from
	// Sources alone. Every other new version is made from its targets' turns, too.
	Anew bool `json:"anew,omitempty"`
	// Rest says that New is what is left of its target, in the target's words: it is made from the target's turns alone.
	Rest bool `json:"rest,omitempty"`
	// At is when what closes the targets was said: from then on they no longer hold. Zero means when it is applied for a DELETE, and the
	// time of New for an UPDATE or MERGE; only a Rest, which keeps the time of its target, needs another.
	At time.Time `json:"at,omitzero"`
	// Until is for an ADD of what had ceased to hold before it was told, as imported history may: the entry is written
	// superseded, valid until then. Zero means that it holds.
	Until time.Time `json:"until,omitzero"`
	// Reason says in few words why, for attribution; it holds no conversation text.
	Reason string `json:"reason,omitempty"`
}
