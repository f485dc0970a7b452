package deltamem

import (
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
	"github.com/mneme-memory/mneme/shared/text"
)

// Reasons of operations; they hold no conversation text.
const (
	reasonNew     = "new"
	reasonUpdate  = "takes the place of what was known"
	reasonKnown   = "already known"
	reasonNothing = "nothing worth keeping"
)

// operationLog turns the agent's operations into operations of the common vocabulary. It checks each against the
// entries that the agent has seen and the earlier operations.
type operationLog struct {
	agent   *agentSession
	version string
	// said has the id of the entry with a content, by its words; replaced has the entries that no longer hold.
	said     map[string]string
	replaced map[string]bool
	// written counts the entries of a set of sources, for their ids.
	written    map[string]int
	decided    map[string]bool
	operations []memory.Operation
}

func newOperationLog(s *agentSession, version string) *operationLog {
	l := &operationLog{
		agent: s, version: version, said: map[string]string{}, replaced: map[string]bool{},
		written: map[string]int{}, decided: map[string]bool{},
	}
	for _, m := range s.trail.Memories {
		l.said[text.Canonical(m.Content)] = m.ID
	}
	return l
}

// enter appends an operation.
func (l *operationLog) enter(e edit) error {
	if err := e.Misfit(); err != nil {
		return err
	}
	target, seen := l.agent.trail.memory(e.Target)
	switch {
	case e.Op == "ADD" && e.Target != "":
		return structured.Faultf("ADD has a target; UPDATE is what changes a memory")
	case e.Op == "UPDATE" && e.Target == "":
		return structured.Faultf("UPDATE has no target; name the memory that it changes")
	case e.Target != "" && !seen:
		return structured.Faultf("target %s was not found by any search; a memory must be seen before it is named",
			structured.Alias(e.Target))
	case seen && l.replaced[target.ID]:
		return structured.Faultf("target %s was updated by an earlier operation; one update must say it all",
			structured.Alias(e.Target))
	}
	entry, err := l.entry(e, target)
	if err != nil {
		return err
	}
	for _, id := range entry.Sources {
		l.decided[id] = true
	}
	words := text.Canonical(entry.Content)
	id, known := l.said[words]
	switch {
	case e.Op == "NONE":
		l.none(entry.Sources, reasonKnown, target.ID)
	case known && (e.Op == "ADD" || id == target.ID):
		l.none(entry.Sources, reasonKnown, id)
	default:
		l.write(e, entry, target, words)
	}
	return nil
}

// sources returns the turns of a refused operation, which still count as decided. It returns nil where the operation
// names other turns.
func (l *operationLog) sources(e edit) []string {
	said, err := llm.Positions(e.Sources, len(l.agent.turns))
	if err != nil {
		return nil
	}
	var out []string
	for _, i := range said {
		out = append(out, l.agent.turns[i].ID)
		l.decided[l.agent.turns[i].ID] = true
	}
	return out
}

// write appends an operation that makes an entry.
func (l *operationLog) write(e edit, entry, target memory.Memory, words string) {
	key := strings.Join(entry.Sources, "\x00")
	entry.ID = memory.DeriveID(l.agent.in.Session.Scope, entry.Sources, l.written[key])
	l.written[key]++
	op := memory.Operation{Kind: memory.OpAdd, New: &entry, Sources: entry.Sources, Reason: reasonNew}
	if e.Op == "UPDATE" {
		op.Kind, op.Targets, op.Reason = memory.OpUpdate, []string{target.ID}, reasonUpdate
		l.replace(target.ID)
		if twin, ok := l.said[words]; ok { // another memory has the new content already: merge the two
			op.Kind, op.Targets = memory.OpMerge, append(op.Targets, twin)
			l.replace(twin)
		}
	}
	l.said[words] = entry.ID
	l.operations = append(l.operations, op)
}

// replace notes that an entry no longer holds.
func (l *operationLog) replace(id string) {
	l.replaced[id] = true
	for words, said := range l.said {
		if said == id {
			delete(l.said, words)
		}
	}
}

func (l *operationLog) none(sources []string, reason, target string) {
	op := memory.Operation{Kind: memory.OpNone, Sources: sources, Reason: reason}
	if target != "" {
		op.Targets = []string{target}
	}
	l.operations = append(l.operations, op)
}

// close returns the operations, with a NONE for the turns that none is of.
func (l *operationLog) close() []memory.Operation {
	var rest []string
	for _, t := range l.agent.turns {
		if !l.decided[t.ID] {
			rest = append(rest, t.ID)
		}
	}
	if len(rest) > 0 {
		slices.Sort(rest)
		l.none(slices.Compact(rest), reasonNothing, "")
	}
	return l.operations
}

// entry returns the entry to write for an operation, without its id. It fills empty fields from the memory that the
// operation updates.
func (l *operationLog) entry(e edit, target memory.Memory) (memory.Memory, error) {
	s := llm.Statement{
		Sources: e.Sources, Kind: e.Kind, Content: e.Content, Topic: e.Topic, Keywords: e.Keywords,
		EventDate: e.EventDate, EventPrecision: e.EventPrecision, EventWords: e.EventWords,
	}
	if e.Op == "NONE" { // it writes nothing, and so its sources are all that counts
		s = llm.Statement{Sources: e.Sources, Kind: e.Kind, Content: reasonKnown}
	}
	c, _, err := s.Candidate(l.agent.turns)
	if err != nil {
		return memory.Memory{}, err
	}
	slices.Sort(c.Sources)
	m := memory.Memory{
		Kind: c.Kind, Content: c.Content, Topic: c.Topic, Slot: target.Slot,
		Keywords: llm.Keywords(slices.Concat(c.Keywords, target.Keywords)), EventTime: c.EventTime,
		ValidFrom: llm.Newest(l.agent.turns, c.Sources), Status: memory.StatusActive, Sources: c.Sources,
		SessionID: l.agent.in.Session.ID, Strategy: Name, PolicyVersion: l.version,
	}
	if m.Topic == "" {
		m.Topic = target.Topic
	}
	if m.EventTime.Time.IsZero() {
		m.EventTime = target.EventTime
	}
	return m, nil
}
