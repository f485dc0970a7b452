package memory

import (
	"slices"
	"time"

	"github.com/mneme-memory/mneme/shared/fault"
)

// Write is the effect of a consolidation on a bank. It is computed once and recorded. It may be applied any number
// of times with one result.
type Write struct {
	// Put are new entries with their vectors. An existing entry stays unchanged.
	Put []Memory `json:"put,omitempty"`
	// Close ends the validity of entries that were active or quarantined before.
	Close []Closing `json:"close,omitempty"`
	// Release ends the quarantine of entries.
	Release []Release `json:"release,omitempty"`
	// Retire are turns that the window no longer shows: the sources of closed or quarantined entries.
	Retire []string `json:"retire,omitempty"`
	// Turns are the consolidated turns. They are the evidence of the entries, and the record of their
	// consolidation. A back-end writes them after the entries.
	Turns []Turn `json:"turns,omitempty"`
	// Core is the next version of the core block, or nil for no change.
	Core *Core `json:"core,omitempty"`
	// Session is the record of the session, written last, or nil for no change.
	Session *SessionRecord `json:"session,omitempty"`
}

// Release ends the quarantine of one entry. Only a quarantined entry is changed.
type Release struct {
	ID string `json:"id"`
	// Status is StatusActive, or StatusSuperseded for a statement that had ceased to hold earlier.
	Status Status `json:"status"`
	// OperationID is the operation that released it.
	OperationID string `json:"operation_id"`
}

// Closing ends the validity of one entry. Only an active or quarantined entry is changed.
type Closing struct {
	ID string `json:"id"`
	// Status is StatusSuperseded or StatusRetracted.
	Status Status `json:"status"`
	// ValidTo is the time from which the entry no longer holds.
	ValidTo time.Time `json:"valid_to"`
	// OperationID is the operation that closed it.
	OperationID string `json:"operation_id"`
}

// Plan turns operations, in their order, into a Write. The argument existing has the entries that operations may
// name as targets, and now becomes RecordedAt. A target must be in existing or come from an earlier operation, and
// must be active. Otherwise Plan returns a terminal error: a decision on an unseen entry must not be applied.
func Plan(scope Scope, ops []Operation, existing []Memory, now time.Time) (Write, error) {
	p := planner{scope: scope, now: now, known: make(map[string]*Memory, len(existing)), fresh: map[string]int{}}
	for i := range existing {
		m := existing[i]
		p.known[m.ID] = &m
	}
	for _, op := range ops {
		if err := p.apply(op); err != nil {
			return Write{}, err
		}
	}
	return p.write, nil
}

type planner struct {
	scope Scope
	now   time.Time
	known map[string]*Memory
	fresh map[string]int // id -> index in write.Put
	write Write
}

func (p *planner) apply(op Operation) error {
	if len(op.Sources) == 0 {
		return fault.Terminal("operation.sources", "is empty, want at least one turn id")
	}
	targets, err := p.targets(op)
	if err != nil {
		return err
	}
	id := DeriveOperationID(p.scope, op)
	switch op.Kind {
	case OpNone:
		return nil
	case OpAdd:
		return p.putEntry(op, id, nil)
	case OpUpdate, OpMerge:
		if len(targets) == 0 {
			return fault.Terminal("operation.targets", "is empty, want an entry to %s", op.Kind)
		}
		if op.Kind == OpUpdate && len(targets) > 1 {
			return fault.Terminal("operation.targets", "names %d entries, want exactly one to UPDATE; MERGE takes several",
				len(targets))
		}
		if err := p.putEntry(op, id, targets); err != nil {
			return err
		}
		at := op.At
		if at.IsZero() {
			at = op.New.ValidFrom
		}
		p.close(targets, StatusSuperseded, at, id)
		return nil
	case OpDelete:
		if len(targets) == 0 {
			return fault.Terminal("operation.targets", "is empty, want an entry to DELETE")
		}
		at := op.At
		if at.IsZero() {
			at = p.now
		}
		p.close(targets, StatusRetracted, at, id)
		return nil
	case OpRelease:
		p.release(targets, id)
		return nil
	default:
		return fault.Terminal("operation.kind", "is %q, want ADD, UPDATE, MERGE, DELETE, RELEASE or NONE", op.Kind)
	}
}

// targets finds the target entries of an operation.
func (p *planner) targets(op Operation) ([]*Memory, error) {
	if op.Kind == OpNone || op.Kind == OpAdd {
		return nil, nil
	}
	var out []*Memory
	for _, id := range sortedUnique(op.Targets) {
		m, ok := p.known[id]
		if !ok {
			return nil, fault.Terminal("operation.targets", "names %s, which is not among the related memories", id)
		}
		want := StatusActive
		if op.Kind == OpRelease || op.Kind == OpDelete && m.Status == StatusQuarantined {
			want = StatusQuarantined
		}
		if m.Status != want {
			return nil, fault.Terminal("operation.targets", "names %s, which is %s, want a memory that is %s", id, m.Status,
				want)
		}
		out = append(out, m)
	}
	return out, nil
}

func (p *planner) putEntry(op Operation, operationID string, predecessors []*Memory) error {
	if op.New == nil || op.New.ID == "" || op.New.Content == "" {
		return fault.Terminal("operation.new", "is empty, want an entry to write for %s", op.Kind)
	}
	if _, dup := p.fresh[op.New.ID]; dup {
		return fault.Terminal("operation.new", "is written twice: %s", op.New.ID)
	}
	m := *op.New
	m.Status, m.Version, m.RecordedAt, m.OperationID = StatusActive, 1, p.now, operationID
	m.Sources, m.Predecessors = nil, nil
	if !op.Rest || len(predecessors) == 0 {
		m.Sources = slices.Clone(op.Sources)
	}
	if op.Kind == OpAdd && !op.Until.IsZero() {
		m.Status, m.ValidTo = StatusSuperseded, op.Until
	}
	if m.Quarantine != "" {
		m.Status, m.Tier = StatusQuarantined, TierMemory // a person looks at it, so lists and events show it
		p.write.Retire = sortedUnique(append(p.write.Retire, op.Sources...))
	}
	var before Attributes
	for _, pre := range slices.SortedStableFunc(slices.Values(predecessors), olderFirst) {
		before = before.overlaid(pre.Attributes)
	}
	m.Attributes = before.overlaid(m.Attributes).withoutRemoved()
	for _, pre := range predecessors {
		m.Predecessors = append(m.Predecessors, pre.ID)
		if !op.Anew {
			m.Sources = append(m.Sources, pre.Sources...)
		}
		m.Version = max(m.Version, pre.Version+1)
	}
	m.Sources = sortedUnique(m.Sources)
	if slices.Contains(m.Predecessors, m.ID) {
		return fault.Terminal("operation.new", "replaces itself: %s", m.ID)
	}
	p.fresh[m.ID] = len(p.write.Put)
	p.write.Put = append(p.write.Put, m)
	p.known[m.ID] = &m
	return nil
}

func olderFirst(a, b *Memory) int { return a.ValidFrom.Compare(b.ValidFrom) }

// release ends the targets' quarantine.
func (p *planner) release(targets []*Memory, operationID string) {
	for _, m := range targets {
		m.Status = StatusActive
		if !m.ValidTo.IsZero() {
			m.Status = StatusSuperseded
		}
		p.write.Release = append(p.write.Release, Release{ID: m.ID, Status: m.Status, OperationID: operationID})
	}
}

// close ends the targets' validity. An entry of the same write is written as closed at once, so no reader sees it
// active.
func (p *planner) close(targets []*Memory, status Status, at time.Time, operationID string) {
	for _, m := range targets {
		until := at
		if until.Before(m.ValidFrom) {
			until = m.ValidFrom
		}
		m.Status, m.ValidTo = status, until
		p.write.Retire = sortedUnique(append(p.write.Retire, m.Sources...))
		if i, ok := p.fresh[m.ID]; ok {
			p.write.Put[i].Status, p.write.Put[i].ValidTo = status, until
			continue
		}
		p.write.Close = append(p.write.Close, Closing{ID: m.ID, Status: status, ValidTo: until, OperationID: operationID})
	}
}

func sortedUnique(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}

// Newer finds the current memories that link to other memories: they may have changed these. T is the caller's name of
// a memory, such as a place in a list.
type Newer[T any] struct {
	of    func(T) Memory
	newer map[string][]T
}

// NewerOf reads the links of the current memories among these.
func NewerOf[T any](all []T, of func(T) Memory) Newer[T] {
	n := Newer[T]{of, map[string][]T{}}
	for _, t := range all {
		m := of(t)
		if m.Status != StatusActive {
			continue
		}
		for _, older := range m.Links {
			n.newer[older] = append(n.newer[older], t)
		}
	}
	return n
}

// IsEmpty reports whether no current memory links to another.
func (n Newer[T]) IsEmpty() bool { return len(n.newer) == 0 }

// Of returns the memories that link to a memory, in the order of NewerOf.
func (n Newer[T]) Of(id string) []T { return n.newer[id] }

// Walk visits the memories that link to one of these ids, and the memories that link to a taken one, and so on. It
// visits at most the first most memories that link to one memory. It may visit a memory repeatedly, so take must refuse
// a memory that it has.
func (n Newer[T]) Walk(ids []string, most int, take func(T) bool) {
	for k := 0; k < len(ids); k++ {
		newer := n.newer[ids[k]]
		for _, t := range newer[:min(most, len(newer))] {
			if take(t) {
				ids = append(ids[:len(ids):len(ids)], n.of(t).ID)
			}
		}
	}
}
