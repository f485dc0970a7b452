package memoryr2

import (
	"slices"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

// edits is the manager's answer.
type edits struct {
	Operations []edit `json:"operations" desc:"one for every fact, in the order they are to be carried out"`
}

// edit is what one fact does. Its fields stand in the order of the questions: contradiction, equivalent, refinement,
// new.
type edit struct {
	structured.Item
	Fact        string   `json:"fact" desc:"the fact's id"`
	Contradicts []string `json:"contradicts,omitempty" desc:"ids of memories that the fact makes false, which are deleted"`
	Op          string   `json:"op" enum:"NONE|UPDATE|INSERT|DELETE" desc:"what then becomes of the fact; DELETE when deleting was all"`
	Target      string   `json:"target,omitempty" desc:"id of the equivalent memory for NONE, of the refined one for UPDATE, else empty"`
	Content     string   `json:"content,omitempty" desc:"the new statement for UPDATE, else empty"`
}

// operations turns the answer into operations of the common vocabulary. A fact that contradicts an entry and is also
// kept becomes a DELETE and a second operation.
func (a edits) operations(b *llm.DecisionInput, group formation.Bundle, id llm.Identity) (formation.Verdict, error) {
	c := checker{input: b, closed: map[string]bool{}, contents: map[string]string{}, facts: map[string]string{}}
	for i, r := range group.Related {
		c.facts[llm.Alias("c", i)] = r.Candidate.Content
	}
	w := llm.NewWriter(b, id)
	var out formation.Verdict
	for _, e := range a.Operations {
		if err := c.check(e); err != nil {
			w.Refuse(e.Fact, err)
			continue
		}
		ops := w.Take(e.decision())
		if len(ops) == 0 {
			continue
		}
		c.carriedOut(e)
		if len(e.Contradicts) > 0 && ops[0].Kind != memory.OpDelete {
			out.Operations = append(out.Operations, c.deletion(e, ops[0], group.Session.Turns))
		}
		out.Operations = append(out.Operations, ops...)
	}
	var err error
	out.Failed, err = w.End()
	return out, err
}

// reasons are kept with the operations, in the words of the questions.
var reasons = map[string]string{"NONE": "equivalent", "UPDATE": "refinement", "INSERT": "new",
	"DELETE": reasonContradiction}

const reasonContradiction = "contradiction"

func (e edit) decision() llm.Decision {
	d := llm.Decision{Candidate: e.Fact, Reason: reasons[e.Op], Op: memory.OpKind(e.Op), Content: e.Content}
	switch {
	case e.Op == "DELETE":
		d.Targets = e.Contradicts
	case e.Target != "":
		d.Targets = []string{e.Target}
	}
	if e.Op == "INSERT" {
		d.Op = memory.OpAdd
	}
	return d
}

// checker goes through the edits in order and refuses errors that the common writer cannot detect.
type checker struct {
	input *llm.DecisionInput
	// closed are the memories that an earlier edit deleted or replaced.
	closed map[string]bool
	// contents has the contents of the entries written so far, by the fact. facts has the texts of the facts.
	contents, facts map[string]string
}

func (c *checker) check(e edit) error {
	if err := e.Misfit(); err != nil {
		return err
	}
	for i, id := range e.Contradicts {
		switch _, shown := c.input.Memory(id); {
		case !shown:
			return structured.Faultf("contradicts names %s, which is not a memory in the data", structured.Alias(id))
		case slices.Contains(e.Contradicts[:i], id), c.closed[id]:
			return structured.Faultf("contradicts names %s, which is replaced or deleted already", id)
		case id == e.Target:
			return structured.Faultf("%s is contradicted and yet the target", id)
		}
	}
	if e.Op == "DELETE" && e.Target != "" {
		return structured.Faultf("DELETE has a target; what is deleted stands in contradicts")
	}
	if e.Op == "UPDATE" {
		return c.update(e)
	}
	return nil
}

// carriedOut records the effect of a correct edit.
func (c *checker) carriedOut(e edit) {
	for _, id := range e.Contradicts {
		c.closed[id] = true
	}
	switch e.Op {
	case "UPDATE":
		c.closed[e.Target], c.contents[e.Fact] = true, e.Content
	case "INSERT":
		c.contents[e.Fact] = c.facts[e.Fact]
	}
}

// update refuses one that is not monotonic. The fault quotes nothing, because it goes into errors too; the model has
// the memory before it.
func (c *checker) update(e edit) error {
	old, known := c.contents[e.Target]
	if m, shown := c.input.Memory(e.Target); shown {
		old, known = m.Content, true
	}
	if known && c.closed[e.Target] {
		return structured.Faultf("target %s is replaced or deleted already", structured.Alias(e.Target))
	}
	if lost := Dropped(old, e.Content); e.Content != "" && len(lost) > 0 {
		return structured.Faultf("content loses %d of the names, numbers and dates of %s; "+
			"an update keeps them all, and what is replaced as \"before that ...\"",
			len(lost), structured.Alias(e.Target))
	}
	return nil
}

// deletion closes the entries that the fact contradicts, from the time of the fact.
func (c *checker) deletion(e edit, op memory.Operation, turns []memory.Turn) memory.Operation {
	out := memory.Operation{Kind: memory.OpDelete, Sources: slices.Clone(op.Sources), Reason: reasonContradiction,
		At: llm.Newest(turns, op.Sources)}
	for _, id := range e.Contradicts {
		m, _ := c.input.Memory(id) // check has seen it
		out.Targets = append(out.Targets, m.ID)
	}
	return out
}
