package membuilder

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

// answer is the answer of a role that keeps entries.
type answer interface {
	// actions returns the actions of the answer.
	actions(d *roleInput) (nothing bool, list []action)
}

// common are the fields that the actions of all these roles have.
type common struct {
	structured.Item
	Sources  []string `json:"sources" desc:"ids of the turns it comes from"`
	Targets  []string `json:"targets,omitempty" desc:"ids of the memories acted on"`
	Topic    string   `json:"topic,omitempty" desc:"one or two words"`
	Keywords []string `json:"keywords,omitempty"`
}

// action is one action in the form that all roles have in common.
type action struct {
	common
	kind    memory.OpKind
	content string
	when    memory.EventTime
	reason  string
	// fault is the answer's fault, made with structured.Faultf; nil for a correct answer.
	fault error
}

// entries has a role's operations on the bank and its failures.
type entries struct {
	operations []memory.Operation
	failed     []formation.Failure
}

// Touched returns the entries and turns of the operations.
func (e entries) Touched(scope memory.Scope) memory.Touch { return memory.Touched(scope, e.operations) }

// Parts is how many operations there are.
func (e entries) Parts() int { return len(e.operations) }

// askEntries asks a role, the i-th of so many, once and turns its answer into operations.
func askEntries[A answer](
	ctx context.Context, r llm.Role, d *roleInput, kinds []memory.Kind, i, roles int,
) (entries, error) {
	v := d.view(kinds)
	return llm.Ask(ctx, r, d.session.Scope, v, len(d.turns), func(a A) (entries, error) {
		nothing, list := a.actions(d)
		switch {
		case nothing && len(list) > 0:
			return entries{}, structured.Faultf("\"nothing\" is true, yet there are operations")
		case !nothing && len(list) == 0:
			return entries{}, structured.Faultf("there are no operations; if there is nothing to do, set \"nothing\" to true")
		}
		out, err := d.operations(v, list)
		d.number(out.operations, i, roles) // here, because the record of the call names the entries
		return out, err
	})
}

// operations checks actions against the shown entries. At most one action may name a memory, since the action closes
// it.
func (d *roleInput) operations(v *view, list []action) (entries, error) {
	closed := map[string]bool{}
	var out entries
	var refusals llm.Refusals
	for i, a := range list {
		var op memory.Operation
		err := a.Misfit()
		if err == nil {
			err = a.fault
		}
		if err == nil {
			op, err = d.operation(v, a, closed)
		}
		if err != nil {
			sources, _, _ := d.sources(a.Sources) // none if the sources are wrong
			refusals.Refuse("operation "+strconv.Itoa(i+1), sources, err)
			continue
		}
		refusals.Take()
		out.operations = append(out.operations, op)
	}
	out.failed = refusals.Failed
	return out, refusals.Err()
}

func (d *roleInput) operation(v *view, a action, closed map[string]bool) (memory.Operation, error) {
	sources, newest, err := d.sources(a.Sources)
	if err != nil {
		return memory.Operation{}, err
	}
	targets, err := v.targets(a.kind, a.Targets, closed)
	if err != nil {
		return memory.Operation{}, err
	}
	closes := func() { // only a valid operation closes an entry
		for _, alias := range a.Targets {
			closed[alias] = closed[alias] || a.kind != memory.OpNone
		}
	}
	op := memory.Operation{Kind: a.kind, Sources: sources, Reason: a.reason}
	for _, t := range targets {
		op.Targets = append(op.Targets, t.ID)
	}
	if a.kind == memory.OpNone {
		return op, nil
	}
	content, err := llm.CheckContent(a.content)
	if err != nil {
		return memory.Operation{}, err
	}
	if id, known := v.findExact(content); known && a.kind == memory.OpAdd {
		return memory.Operation{Kind: memory.OpNone, Targets: []string{id}, Sources: sources, Reason: reasonKnown}, nil
	}
	m := memory.Memory{
		Kind: v.kinds[0], Content: content, Topic: strings.TrimSpace(a.Topic), Keywords: slices.Clone(a.Keywords),
		EventTime: a.when, ValidFrom: newest.Time, Status: memory.StatusActive, Sources: sources,
		SessionID: d.session.ID, Strategy: Name, PolicyVersion: d.version,
	}
	inherit(&m, targets)
	op.New = &m
	closes()
	return op, nil
}

// inherit fills empty fields of a new version from the versions before it. The new version must stay findable by the
// same words.
func inherit(m *memory.Memory, targets []memory.Memory) {
	for _, t := range targets {
		if m.Topic == "" {
			m.Topic = t.Topic
		}
		if m.Slot == "" && len(targets) == 1 {
			m.Slot = t.Slot
		}
		m.Keywords = append(m.Keywords, t.Keywords...)
	}
	m.Keywords = llm.Keywords(m.Keywords)
}

// findExact returns the memory of the role's own that has this content word for word.
func (v *view) findExact(content string) (id string, ok bool) {
	for _, shown := range v.Memories {
		if m, own := v.own[shown.ID]; own && m.Content == content {
			return m.ID, true
		}
	}
	return "", false
}

// targets returns the memories that an action names.
func (v *view) targets(kind memory.OpKind, aliases []string, closed map[string]bool) ([]memory.Memory, error) {
	least, most := 0, 0
	switch kind {
	case memory.OpUpdate:
		least, most = 1, 1
	case memory.OpMerge:
		least, most = 2, len(v.own)
	case memory.OpNone:
		most = 1
	}
	if len(aliases) < least || len(aliases) > most {
		return nil, structured.Faultf("it has %d targets; ADD takes none, UPDATE exactly one, MERGE two or more, SKIP "+
			"at most one", len(aliases))
	}
	var out []memory.Memory
	for i, a := range aliases {
		m, ok := v.own[a]
		switch {
		case v.other[a]:
			return nil, structured.Faultf("target %s is not a %s memory; it is shown for context only", a, v.kinds[0])
		case !ok:
			return nil, structured.Faultf("target %s is not the id of a memory in the data", structured.Alias(a))
		case slices.Contains(aliases[:i], a):
			return nil, structured.Faultf("target %s is named twice", a)
		case closed[a] && kind != memory.OpNone:
			return nil, structured.Faultf("target %s was acted on by an earlier operation; put both into one", a)
		}
		out = append(out, m)
	}
	return out, nil
}
