package memory

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

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

// Change is an applied operation in its announced form.
type Change struct {
	// OperationID is derived from the operation: equal for equal changes.
	OperationID string `json:"operation_id"`
	Kind        OpKind `json:"kind"`
	// MemoryID is the written entry, or the first entry retracted or released.
	MemoryID string `json:"memory_id"`
	// Closed are the entries that the operation superseded or retracted.
	Closed []string `json:"closed,omitempty"`
	// Tier is TierTalk if all written, closed and released entries are talk.
	Tier Tier `json:"tier,omitempty"`
}

// Changes lists the changes of operations, without NONE. The argument existing has the targets, as for Plan.
func Changes(scope Scope, ops []Operation, existing []Memory) []Change {
	tiers := make(map[string]Tier, len(existing))
	for _, m := range existing {
		tiers[m.ID] = m.Tier
	}
	var out []Change
	for _, op := range ops {
		c := Change{OperationID: DeriveOperationID(scope, op), Kind: op.Kind}
		switch op.Kind {
		case OpAdd:
			c.MemoryID = op.New.ID
		case OpUpdate, OpMerge:
			c.MemoryID, c.Closed = op.New.ID, op.Targets
		case OpDelete:
			c.MemoryID, c.Closed = op.Targets[0], op.Targets
		case OpRelease:
			c.MemoryID = op.Targets[0]
		default:
			continue
		}
		if op.New != nil {
			tiers[op.New.ID] = op.New.Tier
		}
		c.Tier = TierTalk
		for _, id := range append([]string{c.MemoryID}, op.Targets...) {
			if tiers[id] != TierTalk {
				c.Tier = TierMemory
			}
		}
		out = append(out, c)
	}
	return out
}

// namespace separates Mneme's derived identifiers from all other identifiers.
var namespace = uuid.MustParse("6d6e656d-6500-5000-8000-6d656d6f7279")

// DeriveID returns the identifier of the entry that the index-th operation writes from the source turns. It is a
// UUID version 5 of tenant, user, sorted sources and index. So a repeated delivery writes the same entry again
// instead of another one.
func DeriveID(scope Scope, sources []string, index int) string {
	sorted := slices.Clone(sources)
	slices.Sort(sorted)
	return derive("memory", append([]string{scope.Tenant, scope.User, strconv.Itoa(index)}, sorted...)...)
}

// DeriveTurnID returns the store identifier of a turn.
func DeriveTurnID(scope Scope, turnID string) string {
	return derive("turn", scope.Tenant, scope.User, turnID)
}

// DeriveSessionID returns the store identifier of a session.
func DeriveSessionID(scope Scope, sessionID string) string {
	return derive("session", scope.Tenant, scope.User, sessionID)
}

// DeriveOperationID returns the identifier of an operation from its contents.
func DeriveOperationID(scope Scope, op Operation) string {
	parts := []string{scope.Tenant, scope.User, string(op.Kind)}
	if op.New != nil {
		parts = append(parts, op.New.ID)
	}
	// The count separates targets from sources.
	parts = append(parts, strconv.Itoa(len(op.Targets)))
	parts = append(parts, op.Targets...)
	return derive("operation", append(parts, op.Sources...)...)
}

// Touch lists the ids that operations concern.
type Touch struct {
	// Operations are the operations' own ids.
	Operations []string `json:"operations,omitempty"`
	// Memories are the entries that the operations write, close or name, or that an answer cites, each once. Closed
	// are the closed entries.
	Memories []string `json:"memories,omitempty"`
	Closed   []string `json:"closed,omitempty"`
}

// Touched returns the ids that operations concern.
func Touched(scope Scope, ops []Operation) (out Touch) {
	for _, op := range ops {
		out.Operations = append(out.Operations, DeriveOperationID(scope, op))
		touched := slices.Clone(op.Targets)
		if op.Kind != OpNone {
			out.Closed = append(out.Closed, op.Targets...)
		}
		if op.New != nil {
			touched = append(touched, op.New.ID)
		}
		for _, id := range touched {
			if !slices.Contains(out.Memories, id) {
				out.Memories = append(out.Memories, id)
			}
		}
	}
	return out
}

// derive hashes the parts with length prefixes, so two lists of parts never give the same input.
func derive(what string, parts ...string) string {
	var b strings.Builder
	b.WriteString(what)
	for _, p := range parts {
		b.WriteByte('\n')
		b.WriteString(strconv.Itoa(len(p)))
		b.WriteByte(':')
		b.WriteString(p)
	}
	return uuid.NewSHA1(namespace, []byte(b.String())).String()
}
