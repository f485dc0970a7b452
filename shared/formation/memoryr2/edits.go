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

// edit is what one fact does. Its fields stand in the order of the questions: contradiction, equivalent, refinement, new.
type edit struct {
	Fact        string   `json:"fact" desc:"the fact's id"`
	Contradicts []string `json:"contradicts,omitempty" desc:"ids of memories that the fact makes false, which are deleted"`
	Op          string   `json:"op" enum:"NONE|UPDATE|INSERT|DELETE" desc:"what then becomes of the fact; DELETE when deleting was all"`
	Target      string   `json:"target,omitempty" desc:"id of the equivalent memory for NONE, of the refined one for UPDATE, else empty"`
	Content     string   `json:"content,omitempty" desc:"the new statement for UPDATE, else empty"`
}

// operations turns the answer into operations of the common vocabulary: a fact that contradicts and is kept as well is a DELETE and
// what follows it.
func (a edits) operations(b *llm.DecisionInput, group formation.Bundle, id llm.Identity) ([]memory.Operation, error) {
	c := checker{input: b, closed: map[string]bool{}, contents: map[string]string{}, facts: map[string]string{}}
	for i, r := range group.Related {
		c.facts[llm.Alias("c", i)] = r.Candidate.Content
	}
	decisions := make([]llm.Decision, len(a.Operations))
	for i, e := range a.Operations {
		if err := c.check(e); err != nil {
			return nil, structured.Faultf("operation of %s: %v", structured.Alias(e.Fact), err)
		}
		decisions[i] = e.decision()
	}
	ops, err := llm.NewWriter(b, id).Operations(decisions)
	if err != nil {
		return nil, err
	}
	var out []memory.Operation
	for i, op := range ops {
		if e := a.Operations[i]; len(e.Contradicts) > 0 && op.Kind != memory.OpDelete {
			out = append(out, c.deletion(e, op, group.Session.Turns))
		}
		out = append(out, op)
	}
	return out, nil
}

// reasons are kept with the operations, in the words of the questions.
var reasons = map[string]string{"NONE": "equivalent", "UPDATE": "refinement", "INSERT": "new", "DELETE": reasonContradiction}

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

// checker goes through the edits in order and refuses what the common writer cannot know to be wrong.
type checker struct {
	input *llm.DecisionInput
	// closed are the memories that an earlier edit deleted or replaced.
	closed map[string]bool
	// contents are of the entries written so far, by the fact that wrote them; facts are what the facts say.
	contents, facts map[string]string
}

func (c *checker) check(e edit) error {
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
	for _, id := range e.Contradicts {
		c.closed[id] = true
	}
	if e.Op == "DELETE" && e.Target != "" {
		return structured.Faultf("DELETE has a target; what is deleted stands in contradicts")
	}
	if e.Op == "UPDATE" {
		if err := c.update(e); err != nil {
			return err
		}
	}
	if e.Op == "INSERT" {
		c.contents[e.Fact] = c.facts[e.Fact]
	}
	return nil
}

// update refuses one that is not monotonic. The fault quotes nothing, because it goes into errors too; the model has the memory before it.
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
	c.closed[e.Target], c.contents[e.Fact] = true, e.Content
	return nil
}

// deletion closes what the fact contradicts, from when it was said.
func (c *checker) deletion(e edit, op memory.Operation, turns []memory.Turn) memory.Operation {
	out := memory.Operation{Kind: memory.OpDelete, Sources: slices.Clone(op.Sources), Reason: reasonContradiction,
		At: llm.Newest(turns, op.Sources)}
	for _, id := range e.Contradicts {
		m, _ := c.input.Memory(id) // check has seen it
		out.Targets = append(out.Targets, m.ID)
	}
	return out
}
