package llm

import (
	"context"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	model "github.com/mneme-memory/mneme/shared/llm"
	"github.com/mneme-memory/mneme/shared/memory"
)

// decisions is the manager's answer. The relation stands before the operation because what a model
// says first guides what it says next.
type decisions struct {
	Operations []decided `json:"operations" desc:"one for every candidate, in the order they are to be carried out"`
}

type decided struct {
	Candidate string   `json:"candidate" desc:"the candidate's id"`
	Relation  string   `json:"relation" enum:"contradicts|same|refines|combines|new|worthless"`
	Op        string   `json:"op" enum:"ADD|UPDATE|MERGE|DELETE|NONE"`
	Targets   []string `json:"targets,omitempty" desc:"ids of the memories acted on"`
	Content   string   `json:"content,omitempty" desc:"the new statement for UPDATE and MERGE, else empty"`
}

// shownCandidate and shownMemory are what the manager sees.
type shownCandidate struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind"`
	Content string   `json:"content"`
	Slot    string   `json:"slot,omitempty"`
	Said    string   `json:"said"`
	When    string   `json:"when,omitempty"`
	Negates bool     `json:"negates,omitempty"`
	Related []string `json:"related"`
}

type shownMemory struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Content string `json:"content"`
	Slot    string `json:"slot,omitempty"`
	Said    string `json:"said"`
	When    string `json:"when,omitempty"`
}

// Decide asks once what the candidates do to the bank. Without candidates it asks nothing.
func (f *Former) Decide(ctx context.Context, in formation.Bundle) ([]memory.Operation, error) {
	if len(in.Related) == 0 {
		return nil, nil
	}
	said, err := timesOf(in)
	if err != nil {
		return nil, err
	}
	b := newBoard(in, said, f.opts.Related)
	req, err := f.manager.request(in.Session.Scope.Tenant, b.data, len(in.Related))
	if err != nil {
		return nil, err
	}
	return model.AskJSON(ctx, f.manager.client, req, func(a decisions) ([]memory.Operation, error) {
		w := writer{board: b, version: f.Version()}
		return w.operations(a)
	})
}

// timesOf looks up the newest source turn of each candidate, as its position in the session.
func timesOf(in formation.Bundle) ([]int, error) {
	position := make(map[string]int, len(in.Session.Turns))
	for i, t := range in.Session.Turns {
		position[t.ID] = i
	}
	out := make([]int, len(in.Related))
	for c, r := range in.Related {
		if len(r.Candidate.Sources) == 0 {
			return nil, fault.Terminal("candidate.sources", "is empty, want turns of the session")
		}
		newest := -1
		for _, id := range r.Candidate.Sources {
			i, ok := position[id]
			if !ok {
				return nil, fault.Terminal("candidate.sources", "names a turn that is not of the session")
			}
			if newest < 0 || in.Session.Turns[i].Time.After(in.Session.Turns[newest].Time) {
				newest = i
			}
		}
		out[c] = newest
	}
	return out, nil
}

// board is what one decision is made on: the data shown, and what its aliases stand for.
type board struct {
	bundle formation.Bundle
	newest []int // by candidate: the position of its newest source
	data   struct {
		Candidates []shownCandidate `json:"candidates"`
		Memories   []shownMemory    `json:"memories"`
	}
	candidates map[string]int
	memories   map[string]memory.Memory
}

// newBoard shows each related memory once, whichever candidates it is near to.
func newBoard(in formation.Bundle, newest []int, related int) *board {
	b := &board{bundle: in, newest: newest, candidates: map[string]int{}, memories: map[string]memory.Memory{}}
	b.data.Memories = []shownMemory{}
	aliases := map[string]string{} // memory id -> alias
	for i, r := range in.Related {
		c := r.Candidate
		id := alias("c", i)
		b.candidates[id] = i
		shown := shownCandidate{
			ID: id, Kind: string(c.Kind), Content: c.Content, Slot: c.Slot, Negates: c.Negates,
			Said: showTime(in.Session.Turns[newest[i]].Time), When: showEvent(c.EventTime), Related: []string{},
		}
		for _, m := range r.Memories[:min(related, len(r.Memories))] {
			if m.Status == memory.StatusActive {
				shown.Related = append(shown.Related, b.show(aliases, m))
			}
		}
		b.data.Candidates = append(b.data.Candidates, shown)
	}
	return b
}

func (b *board) show(aliases map[string]string, m memory.Memory) string {
	if a, ok := aliases[m.ID]; ok {
		return a
	}
	a := alias("m", len(b.memories))
	aliases[m.ID], b.memories[a] = a, m
	b.data.Memories = append(b.data.Memories, shownMemory{
		ID: a, Kind: string(m.Kind), Content: m.Content, Slot: m.Slot, Said: showTime(m.ValidFrom), When: showEvent(m.EventTime),
	})
	return a
}

// showEvent writes an event time as exactly as it is known.
func showEvent(e memory.EventTime) string {
	switch e.Precision {
	case memory.PrecisionDay:
		return e.Time.Format("2006-01-02")
	case memory.PrecisionMonth:
		return e.Time.Format("2006-01")
	case memory.PrecisionYear:
		return e.Time.Format("2006")
	}
	return ""
}
