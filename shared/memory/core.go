package memory

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Capacity of a core block, in characters (MemBuilder, Appendix C).
const (
	// CoreCapacity is the maximum length of a block.
	CoreCapacity = 5000
	// CoreAppendLimit is the length from which APPEND is refused: 90 % of the capacity.
	CoreAppendLimit = CoreCapacity * 9 / 10
)

// CoreWords is the maximum number of words in a block with evidence for its lines.
const CoreWords = 60

// CoreVersions is the maximum number of block versions in a bank. The newest ones stay.
const CoreVersions = 20

// The operations on the core block (MemBuilder, equation 1).
const (
	OpAppend  OpKind = "APPEND"
	OpReplace OpKind = "REPLACE"
	OpRewrite OpKind = "REWRITE"
)

// Core is the one block of a user that is always in view: facts about the user, preferences, important people. Each
// change writes a new version. A bank keeps CoreVersions of them.
type Core struct {
	// Content is the block's text, at most CoreCapacity characters. It is empty before the first version.
	Content string `json:"content,omitempty"`
	// Lines are the lines of Content with their evidence, where consolidation chooses the block among the memories.
	// They are empty where the strategy writes it.
	Lines []CoreLine `json:"lines,omitempty"`
	// Version is 0 for a block without a first write.
	Version int `json:"version,omitempty"`
	// UpdatedAt is the time of this version.
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	// Sources are the ids of the source turns of this version, sorted.
	Sources []string `json:"sources,omitempty"`
	// SessionID is the session of those turns.
	SessionID string `json:"session_id,omitempty"`
	// OperationID is the last operation that made this version.
	OperationID string `json:"operation_id,omitempty"`
	// PolicyVersion is name and version of the policy that decided.
	PolicyVersion string `json:"policy_version,omitempty"`
}

// CoreLine is one line of a block with its evidence.
type CoreLine struct {
	// Text is a quotation of the first of Memories.
	Text string `json:"text"`
	// Memories are the ids of the memories that support it, at least one.
	Memories []string `json:"memories"`
}

// Valid reports whether a written block keeps its bounds. It needs a version of at least 1 and at most CoreCapacity
// characters. Lines must make up the content, be at most as many as CoreWords, and each have evidence.
func (c Core) Valid() bool {
	bare := func(l CoreLine) bool { return len(l.Memories) == 0 || slices.Contains(l.Memories, "") }
	return c.Version >= 1 && c.Length() <= CoreCapacity && !slices.ContainsFunc(c.Lines, bare) &&
		len(c.Lines) <= CoreWords && (len(c.Lines) == 0 || joined(c.Lines) == c.Content)
}

// Rests reports whether a memory is evidence for a line of the block.
func (c Core) Rests(memoryID string) bool {
	return slices.ContainsFunc(c.Lines, func(l CoreLine) bool { return slices.Contains(l.Memories, memoryID) })
}

// Only returns the block with the lines for which keep is true. It returns the zero block when no line is left.
func (c Core) Only(keep func(CoreLine) bool) Core {
	var lines []CoreLine
	for _, l := range c.Lines {
		if keep(l) {
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		return Core{}
	}
	c.Lines, c.Content = lines, joined(lines)
	return c
}

func joined(lines []CoreLine) string {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.Text
	}
	return strings.Join(texts, "\n")
}

// Length is the block's length in characters.
func (c Core) Length() int { return utf8.RuneCountInString(c.Content) }

// CoreOperation is one decision about the core block.
type CoreOperation struct {
	// Kind is APPEND, REPLACE or REWRITE.
	Kind OpKind `json:"kind"`
	// Old is the text that REPLACE removes. It must be in the block. It is empty for other kinds.
	Old string `json:"old,omitempty"`
	// New is the text to append, the replacement of Old, or the whole new block. It may be empty for REPLACE only.
	New string `json:"new,omitempty"`
	// Sources are the source turns of the decision, at least one.
	Sources []string `json:"sources"`
	// Reason gives the cause in few words. It has no conversation text.
	Reason string `json:"reason,omitempty"`
}

// EditCore applies an operation to a block's text and returns the new text. Errors are terminal and name the field.
func EditCore(text string, op CoreOperation) (string, error) {
	if len(op.Sources) == 0 {
		return "", fault.Terminal("core.sources", "is empty, want at least one turn id")
	}
	if strings.TrimSpace(op.New) == "" && op.Kind != OpReplace {
		return "", fault.Terminal("core.new", "is empty, want text to %s", op.Kind)
	}
	switch op.Kind {
	case OpAppend:
		if n := utf8.RuneCountInString(text); n >= CoreAppendLimit {
			return "", fault.Terminal("core.kind", "is APPEND to a block of %d characters, want fewer than %d; REPLACE "+
				"or REWRITE it", n,
				CoreAppendLimit)
		}
		if text == "" {
			return strings.TrimSpace(op.New), nil
		}
		return text + "\n" + strings.TrimSpace(op.New), nil
	case OpReplace:
		if op.Old == "" || !strings.Contains(text, op.Old) {
			return "", fault.Terminal("core.old", "is not in the block, want text to replace")
		}
		return tidyLines(strings.Replace(text, op.Old, strings.TrimSpace(op.New), 1)), nil
	case OpRewrite:
		return strings.TrimSpace(op.New), nil
	}
	return "", fault.Terminal("core.kind", "is %q, want APPEND, REPLACE or REWRITE", op.Kind)
}

// tidyLines drops lines that an edit has left empty.
func tidyLines(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "" }), "\n")
}

// PlanCore applies operations to a block, in their order, and returns its next version. It returns nil when no
// operation changes the block. The result must fit into CoreCapacity. The argument now becomes UpdatedAt.
func PlanCore(scope Scope, block Core, ops []CoreOperation, sessionID, policy string, now time.Time) (*Core, error) {
	text := block.Content
	next := Core{Version: block.Version + 1, UpdatedAt: now, SessionID: sessionID, PolicyVersion: policy}
	for i, op := range ops {
		var err error
		if text, err = EditCore(text, op); err != nil {
			return nil, err
		}
		next.Sources = sortedUnique(append(next.Sources, op.Sources...))
		next.OperationID = DeriveCoreOperationID(scope, next.Version, i, op)
	}
	if text == block.Content {
		return nil, nil
	}
	next.Content = text
	if n := next.Length(); n > CoreCapacity {
		return nil, fault.Terminal("core.new", "makes a block of %d characters, want at most %d", n, CoreCapacity)
	}
	return &next, nil
}

// PlanLines replaces the whole block with lines that have evidence, and returns its next version. It returns nil
// for the same lines by the same policy. The argument sources has the source turns of those memories.
func PlanLines(
	scope Scope, block Core, lines []CoreLine, sources []string, sessionID, policy string, now time.Time,
) *Core {
	same := slices.EqualFunc(lines, block.Lines, CoreLine.equal) && joined(lines) == block.Content
	if same && (block.Version == 0 || block.PolicyVersion == policy) {
		return nil
	}
	next := &Core{
		Content: joined(lines), Lines: lines, Version: block.Version + 1, UpdatedAt: now, Sources: sortedUnique(sources),
		SessionID: sessionID, PolicyVersion: policy,
	}
	next.OperationID = DeriveCoreOperationID(scope, next.Version, 0,
		CoreOperation{Kind: OpRewrite, New: next.Content, Sources: next.Sources})
	return next
}

// LinesChanges returns the change from PlanLines in its announced form.
func LinesChanges(scope Scope, c Core) []Change {
	return []Change{{OperationID: c.OperationID, Kind: OpRewrite, MemoryID: DeriveCoreID(scope, c.Version)}}
}

func (l CoreLine) equal(o CoreLine) bool {
	return l.Text == o.Text && slices.Equal(l.Memories, o.Memories)
}

// DeriveCoreID returns the identifier of a version of a user's core block.
func DeriveCoreID(scope Scope, version int) string {
	return derive("core", scope.Tenant, scope.User, strconv.Itoa(version))
}

// DeriveCoreOperationID returns the identifier of the index-th operation that led to a version of the block.
func DeriveCoreOperationID(scope Scope, version, index int, op CoreOperation) string {
	parts := []string{scope.Tenant, scope.User, strconv.Itoa(version), strconv.Itoa(index), string(op.Kind), op.Old,
		op.New}
	return derive("core operation", append(parts, op.Sources...)...)
}

// CoreChanges lists the changes of operations on the core block, in their announced form. It is empty for a nil next.
func CoreChanges(scope Scope, next *Core, ops []CoreOperation) []Change {
	if next == nil {
		return nil
	}
	out := make([]Change, 0, len(ops))
	for i, op := range ops {
		out = append(out, Change{
			OperationID: DeriveCoreOperationID(scope, next.Version, i, op), Kind: op.Kind,
			MemoryID: DeriveCoreID(scope, next.Version),
		})
	}
	return out
}
