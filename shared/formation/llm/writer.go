package llm

import (
	"slices"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

// Decision is what a manager decided on one candidate, in aliases.
type Decision struct {
	// Candidate is the candidate's alias.
	Candidate string
	// Reason is kept with the operation; it holds no conversation text.
	Reason string
	Op     memory.OpKind
	// Targets are aliases of memories, or of candidates whose entry an earlier decision wrote.
	Targets []string
	// Content is the new statement for UPDATE and MERGE.
	Content string
}

// Identity is what a strategy's entries are marked with.
type Identity struct{ Strategy, PolicyVersion string }

// Writer turns decisions into operations, checking each against what was shown and what the ones
// before it did. Its errors are made with structured.Faultf.
type Writer struct {
	input    *DecisionInput
	identity Identity

	done    map[string]bool          // candidates decided
	written map[string]memory.Memory // candidate -> the entry its operation writes
	closed  map[string]string        // target -> the candidate whose operation closed it
}

// NewWriter makes a writer of operations on what a decision input shows.
func NewWriter(b *DecisionInput, id Identity) *Writer {
	return &Writer{input: b, identity: id, done: map[string]bool{}, written: map[string]memory.Memory{}, closed: map[string]string{}}
}

// Operations turns a whole list of decisions into operations. Every candidate must be decided exactly once.
func (w *Writer) Operations(list []Decision) ([]memory.Operation, error) {
	out := make([]memory.Operation, 0, len(list))
	for _, d := range list {
		op, err := w.operation(d)
		if err != nil {
			return nil, structured.Faultf("operation of %s: %v", structured.Alias(d.Candidate), err)
		}
		out = append(out, op)
	}
	for i := range w.input.bundle.Related {
		if c := Alias("c", i); !w.done[c] {
			return nil, structured.Faultf("%s has no operation; every candidate needs one", c)
		}
	}
	return out, nil
}

func (w *Writer) operation(d Decision) (memory.Operation, error) {
	i, known := w.input.indices[d.Candidate]
	switch {
	case !known:
		return memory.Operation{}, structured.Faultf("no such candidate; the ids are c1 to c%d", len(w.input.indices))
	case w.done[d.Candidate]:
		return memory.Operation{}, structured.Faultf("it has an operation already")
	}
	w.done[d.Candidate] = true
	kind := d.Op
	targets, err := w.targets(kind, d.Targets)
	if err != nil {
		return memory.Operation{}, err
	}
	c := w.input.bundle.Related[i].Candidate
	op := memory.Operation{Kind: kind, Sources: sorted(c.Sources), Reason: d.Reason}
	for _, t := range targets {
		op.Targets = append(op.Targets, t.ID)
	}
	content := c.Content
	switch kind {
	case memory.OpUpdate, memory.OpMerge:
		if content, err = CheckContent(d.Content); err != nil {
			return memory.Operation{}, err
		}
	case memory.OpDelete:
		op.At = w.input.bundle.Session.Turns[w.input.newest[i]].Time
		w.close(kind, d)
		return op, nil
	case memory.OpNone:
		w.close(kind, d)
		return op, nil
	}
	m := w.entry(i, content, targets)
	m.ID = memory.DeriveID(w.input.bundle.Session.Scope, op.Sources, c.Ordinal)
	op.New = &m
	w.close(kind, d)
	w.written[d.Candidate] = m
	return op, nil
}

// targets checks number and state of the targets, and looks them up.
func (w *Writer) targets(kind memory.OpKind, ids []string) ([]memory.Memory, error) {
	least, most := map[memory.OpKind]int{memory.OpUpdate: 1, memory.OpMerge: 1, memory.OpDelete: 1}[kind], len(ids)
	switch kind {
	case memory.OpAdd:
		most = 0
	case memory.OpUpdate:
		most = 1
	}
	if len(ids) < least || len(ids) > most {
		return nil, structured.Faultf("%s has %d targets; want %s", kind, len(ids), wanted(kind))
	}
	var out []memory.Memory
	for n, id := range ids {
		if slices.Contains(ids[:n], id) {
			return nil, structured.Faultf("target %s is named twice", structured.Alias(id))
		}
		m, err := w.target(kind, id)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	if kind == memory.OpNone {
		out = out[:min(1, len(out))] // one entry that says it already is reason enough
	}
	return out, nil
}

func wanted(kind memory.OpKind) string {
	return map[memory.OpKind]string{
		memory.OpAdd: "none", memory.OpUpdate: "exactly one", memory.OpMerge: "one or more", memory.OpDelete: "one or more",
	}[kind]
}

// target is a memory that was shown, or the entry of an earlier operation.
func (w *Writer) target(kind memory.OpKind, id string) (memory.Memory, error) {
	m, ok := w.input.memories[id]
	if !ok {
		m, ok = w.written[id]
	}
	if !ok {
		return m, structured.Faultf("target %s is neither a memory in the data nor written by an earlier operation", structured.Alias(id))
	}
	by, gone := w.closed[id]
	if !gone || kind == memory.OpNone {
		return m, nil
	}
	if _, replaced := w.written[by]; replaced {
		return m, structured.Faultf("target %s was replaced by the operation of %s; target %s instead", id, by, by)
	}
	return m, structured.Faultf("target %s was deleted by the operation of %s", id, by)
}

// close notes which targets the operation ends.
func (w *Writer) close(kind memory.OpKind, d Decision) {
	if kind == memory.OpNone {
		return
	}
	for _, id := range d.Targets {
		w.closed[id] = d.Candidate
	}
}

// entry is the entry to write. What the candidate leaves open it takes from its targets, because a new
// version must not lose what the old one told.
func (w *Writer) entry(i int, content string, targets []memory.Memory) memory.Memory {
	session := w.input.bundle.Session
	c := w.input.bundle.Related[i].Candidate
	m := memory.Memory{
		Kind: c.Kind, Content: content, Topic: c.Topic, Slot: c.Slot, Keywords: slices.Clone(c.Keywords), EventTime: c.EventTime,
		ValidFrom: session.Turns[w.input.newest[i]].Time, Status: memory.StatusActive, Sources: sorted(c.Sources),
		SessionID: session.ID, Strategy: w.identity.Strategy, PolicyVersion: w.identity.PolicyVersion,
	}
	for _, t := range targets {
		if m.Topic == "" {
			m.Topic = t.Topic
		}
		if m.Slot == "" {
			m.Slot = t.Slot
		}
		if m.EventTime.Time.IsZero() {
			m.EventTime = t.EventTime
		}
		m.Keywords = append(m.Keywords, t.Keywords...)
	}
	m.Keywords = Keywords(m.Keywords)
	return m
}

func sorted(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}
