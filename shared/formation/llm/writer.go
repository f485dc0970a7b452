package llm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

// Decision is a manager's decision on one candidate, in aliases.
type Decision struct {
	// Candidate is the candidate's alias.
	Candidate string
	// Reason is kept with the operation; it holds no conversation text.
	Reason string
	Op     memory.OpKind
	// Targets are aliases of memories, or of candidates with an entry from an earlier decision.
	Targets []string
	// Content is the new statement for UPDATE and MERGE.
	Content string
	// Ends are aliases of further memories that no longer hold because of the candidate. They are closed together with
	// the operation.
	Ends []string
	// Kind, Slot and the event's date and precision are fields of the new version for UPDATE and MERGE. An empty kind
	// means the first target's kind. Any other empty field means the candidate's value, or else a target's. Cleared
	// empties a slot or a date.
	Kind                      memory.Kind
	Slot                      string
	EventDate, EventPrecision string
	// Item says what of it could not be read.
	structured.Item
}

// Cleared marks the slot or the date that a new version does not take from its predecessor.
const Cleared = "none"

// reasonEnds is stored with the operation that closes the entries which a candidate ends.
const reasonEnds = "ends"

// Identity marks the entries of a strategy.
type Identity struct{ Strategy, PolicyVersion string }

// Writer turns decisions into operations. It checks each decision against the shown entries and the earlier decisions.
// Its errors are made with structured.Faultf. It refuses a wrong decision alone: the others count.
type Writer struct {
	input    *DecisionInput
	identity Identity

	done    map[string]bool          // candidates with an operation, or with a decision that was refused
	written map[string]memory.Memory // candidate -> the entry its operation writes
	closed  map[string]string        // target -> the candidate whose operation closed it
	ended   map[string]bool          // target -> it was ended beside an operation

	refusals Refusals
	harmless []string // faults with which nothing is lost, such as an operation of a candidate that there is not
}

// NewWriter makes a writer of operations on the entries of a decision input.
func NewWriter(b *DecisionInput, id Identity) *Writer {
	return &Writer{input: b, identity: id, done: map[string]bool{}, written: map[string]memory.Memory{},
		closed: map[string]string{}, ended: map[string]bool{}}
}

// Take turns one decision into operations; a refused decision gives no operation.
func (w *Writer) Take(d Decision) []memory.Operation {
	if err := d.Misfit(); err != nil {
		w.Refuse(d.Candidate, err)
		return nil
	}
	if _, known := w.input.indices[d.Candidate]; !known {
		w.harmless = append(w.harmless, fmt.Sprintf("operation of %s: no such candidate; the ids are c1 to c%d",
			structured.Alias(d.Candidate), len(w.input.indices)))
		return nil
	}
	if w.done[d.Candidate] {
		w.Refuse(d.Candidate, structured.Faultf("it has an operation already"))
		return nil
	}
	ends, err := w.ends(d)
	if err != nil {
		w.Refuse(d.Candidate, err)
		return nil
	}
	op, err := w.operation(d)
	if err != nil {
		w.Refuse(d.Candidate, err)
		return nil
	}
	w.done[d.Candidate] = true
	w.refusals.Take()
	if len(ends.Targets) == 0 {
		return []memory.Operation{op}
	}
	for _, id := range d.Ends {
		w.closed[id], w.ended[id] = d.Candidate, true
	}
	return []memory.Operation{ends, op}
}

// Refuse notes that there is no operation of a candidate, or not the one that was decided on, and why.
func (w *Writer) Refuse(candidate string, why error) {
	i, known := w.input.indices[candidate]
	if !known {
		w.harmless = append(w.harmless, fmt.Sprintf("operation of %s: %v", structured.Alias(candidate), why))
		return
	}
	w.done[candidate] = true
	w.refusals.Refuse("operation of "+candidate, w.input.bundle.Related[i].Candidate.Sources, why)
}

// RefuseBeside records a fault of an answer outside its operations. The operations still count, and no content is lost.
func (w *Writer) RefuseBeside(why error) { w.harmless = append(w.harmless, why.Error()) }

// End returns the candidates without an operation, and the faults of the decisions; nil without faults. Every
// candidate must have a decision. Where some decisions were correct, the error is one of structured.Partly. These
// decisions then count if the model's repair does no better.
func (w *Writer) End() ([]formation.Failure, error) {
	for i := range w.input.bundle.Related {
		if c := Alias("c", i); !w.done[c] {
			w.Refuse(c, structured.Faultf("it has none; every candidate needs one"))
		}
	}
	err := w.refusals.Err()
	if len(w.harmless) > 0 {
		text := strings.Join(w.harmless, "; ")
		if err != nil {
			text = err.Error() + "; " + text
		}
		if err = structured.Faultf("%s", text); w.refusals.taken > 0 {
			err = structured.Partly(err, w.refusals.taken)
		}
	}
	return w.refusals.Failed, err
}

func (w *Writer) operation(d Decision) (memory.Operation, error) {
	i, kind := w.input.indices[d.Candidate], d.Op
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
	if kind != memory.OpAdd {
		if err := d.revise(&m, targets[0]); err != nil {
			return memory.Operation{}, err
		}
	}
	m.ID = memory.DeriveID(w.input.bundle.Session.Scope, op.Sources, c.Ordinal)
	op.New = &m
	w.close(kind, d)
	w.written[d.Candidate] = m
	return op, nil
}

// ends returns the operation that closes the entries which a candidate ends, from the time of the candidate's
// statement. It has no targets where the candidate ends no entry.
func (w *Writer) ends(d Decision) (memory.Operation, error) {
	i := w.input.indices[d.Candidate]
	out := memory.Operation{
		Kind: memory.OpDelete, Sources: sorted(w.input.bundle.Related[i].Candidate.Sources), Reason: reasonEnds,
		At: w.input.bundle.Session.Turns[w.input.newest[i]].Time,
	}
	for n, id := range d.Ends {
		m, shown := w.input.memories[id]
		switch {
		case !shown:
			return out, structured.Faultf("ends names %s, which is not a memory in the data", structured.Alias(id))
		case slices.Contains(d.Ends[:n], id), slices.Contains(d.Targets, id), w.closed[id] != "":
			return out, structured.Faultf("ends names %s, which an operation replaces or ends already", structured.Alias(id))
		}
		out.Targets = append(out.Targets, m.ID)
	}
	return out, nil
}

// revise gives a new version the kind, the slot and the date of the decision. The version stays in the store of the
// replaced entry where the decision has no kind.
func (d Decision) revise(m *memory.Memory, old memory.Memory) error {
	m.Kind = cmp.Or(d.Kind, old.Kind)
	switch slot := strings.ToLower(strings.TrimSpace(d.Slot)); slot {
	case "":
	case Cleared:
		m.Slot = ""
	default:
		if err := checkNames("", slot, ""); err != nil {
			return err
		}
		m.Slot = slot
	}
	switch date := strings.TrimSpace(d.EventDate); date {
	case "": // a precision alone says nothing
	case Cleared:
		m.EventTime = memory.EventTime{}
	default:
		at, err := ParseEventTime(date, d.EventPrecision)
		if err != nil {
			return err
		}
		m.EventTime = at
	}
	return nil
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
		return m, structured.Faultf("target %s is neither a memory in the data nor written by an earlier operation",
			structured.Alias(id))
	}
	by, gone := w.closed[id]
	if !gone || kind == memory.OpNone {
		return m, nil
	}
	if _, replaced := w.written[by]; replaced && !w.ended[id] {
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

// entry returns the entry to write. It fills the candidate's empty fields from its targets, because a new version must
// not lose facts of the old one.
func (w *Writer) entry(i int, content string, targets []memory.Memory) memory.Memory {
	session := w.input.bundle.Session
	c := w.input.bundle.Related[i].Candidate
	m := memory.Memory{
		Kind: c.Kind, Content: content, Topic: c.Topic, Slot: c.Slot, Keywords: slices.Clone(c.Keywords),
		EventTime: c.EventTime,
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
