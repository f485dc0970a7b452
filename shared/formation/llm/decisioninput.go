package llm

import (
	"slices"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
)

// ShownCandidate is a candidate as prompts show it.
type ShownCandidate struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Content string `json:"content"`
	Speaker string `json:"speaker,omitempty"`
	// Role is assistant if no user said it, and else empty.
	Role    string   `json:"role,omitempty"`
	Slot    string   `json:"slot,omitempty"`
	Said    string   `json:"said"`
	When    string   `json:"when,omitempty"`
	Negates bool     `json:"negates,omitempty"`
	Related []string `json:"related"`
}

// ShownMemory is a memory as prompts show it.
type ShownMemory struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Content string `json:"content"`
	Speaker string `json:"speaker,omitempty"`
	Slot    string `json:"slot,omitempty"`
	Said    string `json:"said"`
	When    string `json:"when,omitempty"`
}

// ShownKnown is an entry of the bank in the extractors' prompt. It is to be read only, so it has no alias.
type ShownKnown struct {
	Content string `json:"content"`
	Slot    string `json:"slot,omitempty"`
	When    string `json:"when,omitempty"`
}

// readsOfBank is how many entries an extractor reads.
const readsOfBank = 16

// ShowKnown shows entries to be read only.
func ShowKnown(list []memory.Memory) []ShownKnown {
	out := make([]ShownKnown, len(list))
	for i, m := range list {
		out[i] = ShownKnown{Content: m.Content, Slot: m.Slot, When: model.ShowEvent(m.EventTime)}
	}
	return out
}

// ShowMemory shows a memory by an alias.
func ShowMemory(alias string, m memory.Memory) ShownMemory {
	return ShownMemory{
		ID: alias, Kind: string(m.Kind), Content: m.Content, Speaker: m.Speaker, Slot: m.Slot,
		Said: model.ShowTime(m.ValidFrom), When: model.ShowEvent(m.EventTime),
	}
}

// DecisionInput is what one decision is made on: the data shown, and what its aliases stand for. Encoded as JSON it is
// a prompt's data.
type DecisionInput struct {
	Candidates []ShownCandidate `json:"candidates"`
	Memories   []ShownMemory    `json:"memories"`

	bundle   formation.Bundle
	newest   []int // by candidate: the position of its newest source
	indices  map[string]int
	memories map[string]memory.Memory
}

// NewDecisionInput shows each candidate with its related memories. It shows each memory once, also when it is near to
// several candidates. A candidate with a source outside the session is a terminal error.
func NewDecisionInput(in formation.Bundle) (*DecisionInput, error) {
	newest, err := timesOf(in)
	if err != nil {
		return nil, err
	}
	b := &DecisionInput{bundle: in, newest: newest, Memories: []ShownMemory{}, indices: map[string]int{},
		memories: map[string]memory.Memory{}}
	aliases := map[string]string{} // memory id -> alias
	for i, r := range in.Related {
		c := r.Candidate
		id := Alias("c", i)
		b.indices[id] = i
		shown := ShownCandidate{
			ID: id, Kind: string(c.Kind), Content: c.Content, Speaker: c.Speaker, Slot: c.Slot, Negates: c.Negates,
			Said: model.ShowTime(in.Session.Turns[newest[i]].Time), When: model.ShowEvent(c.EventTime), Related: []string{},
		}
		if isAssistants(c, in.Session.Turns) {
			shown.Role = string(memory.RoleAssistant)
		}
		for _, m := range r.Memories {
			if m.Status == memory.StatusActive {
				shown.Related = append(shown.Related, b.show(aliases, m))
			}
		}
		b.Candidates = append(b.Candidates, shown)
	}
	return b, nil
}

// isAssistants reports whether no user said a candidate.
func isAssistants(c formation.Candidate, turns []memory.Turn) bool {
	return !slices.ContainsFunc(turns, func(t memory.Turn) bool {
		return t.Role != memory.RoleAssistant && slices.Contains(c.Sources, t.ID)
	})
}

// Memory is the memory that an alias stands for.
func (b *DecisionInput) Memory(alias string) (m memory.Memory, ok bool) {
	m, ok = b.memories[alias]
	return m, ok
}

func (b *DecisionInput) show(aliases map[string]string, m memory.Memory) string {
	if a, ok := aliases[m.ID]; ok {
		return a
	}
	a := Alias("m", len(b.memories))
	aliases[m.ID], b.memories[a] = a, m
	b.Memories = append(b.Memories, ShowMemory(a, m))
	return a
}

// timesOf looks up the newest source turn of each candidate, as its position in the session.
func timesOf(in formation.Bundle) ([]int, error) {
	position := in.Session.Positions()
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

// A related memory has at least leastSimilarity as its cosine, and nearShare of the nearest memory's. Statements about
// one person have a cosine of 0.2 by the person's name alone.
const (
	leastSimilarity = 0.2
	nearShare       = 0.6
)

// Nearest reduces each candidate's memories to at most a number. The memories of its slot come first, then the nearest
// others.
func Nearest(in formation.Bundle, most int) formation.Bundle {
	related := make([]formation.Related, len(in.Related))
	for i, r := range in.Related {
		least := leastSimilarity
		if len(r.Similarity) > 0 {
			least = max(least, nearShare*slices.Max(r.Similarity))
		}
		var slot, near []int
		for k, m := range r.Memories {
			switch {
			case m.Status != memory.StatusActive:
			case m.Slot != "" && m.Slot == r.Candidate.Slot:
				slot = append(slot, k)
			case k >= len(r.Similarity) || r.Similarity[k] >= least:
				near = append(near, k)
			}
		}
		kept := append(slot, near...)
		related[i].Candidate = r.Candidate
		for _, k := range kept[:min(most, len(kept))] {
			related[i].Memories = append(related[i].Memories, r.Memories[k])
			if k < len(r.Similarity) {
				related[i].Similarity = append(related[i].Similarity, r.Similarity[k])
			}
		}
	}
	in.Related = related
	return in
}
