package deltamem

import (
	"encoding/json"
	"slices"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/text"
)

// maxCueBytes bounds the text of a turn in its candidate.
const maxCueBytes = 512

// trail has the agent's steps so far, and is the memo between them.
type trail struct {
	Steps []step `json:"steps"`
	// Memories are those found, each once: the first is m1.
	Memories []memory.Memory `json:"memories"`
	Tokens   tokens          `json:"tokens,omitzero"`
}

// step is one of the agent's. The last one has no searches.
type step struct {
	Thought  string   `json:"thought,omitempty"`
	Searches []search `json:"searches,omitempty"`
}

// search is a query with the aliases of its results, nearest first.
type search struct {
	Query string   `json:"query"`
	Found []string `json:"found"`
}

func (t *trail) searches() (n int) {
	for _, s := range t.Steps {
		n += len(s.Searches)
	}
	return n
}

// agentSession is the agent in one of its steps.
type agentSession struct {
	in     formation.Bundle
	bounds Bounds
	turns  []memory.Turn
	trail  trail
}

// resume goes on where the last step ended, with what its queries found.
func resume(in formation.Bundle, bounds Bounds) (*agentSession, error) {
	s := &agentSession{in: in, bounds: bounds, turns: waiting(in)}
	if len(in.Memo) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(in.Memo, &s.trail); err != nil || len(s.trail.Steps) == 0 {
		return nil, fault.Terminal("bundle.memo", "is not the trail of this agent")
	}
	last := &s.trail.Steps[len(s.trail.Steps)-1]
	if len(in.Found) != len(last.Searches) {
		return nil, fault.Terminal("bundle.found", "has %d results, want the results of %d queries", len(in.Found),
			len(last.Searches))
	}
	for i, f := range in.Found {
		for _, m := range f.Memories[:min(bounds.Found, len(f.Memories))] {
			if m.Status == memory.StatusActive {
				last.Searches[i].Found = append(last.Searches[i].Found, s.trail.alias(m))
			}
		}
	}
	return s, nil
}

// alias names a memory, and keeps of it what operations need.
func (t *trail) alias(m memory.Memory) string {
	i := slices.IndexFunc(t.Memories, func(o memory.Memory) bool { return o.ID == m.ID })
	if i < 0 {
		i = len(t.Memories)
		t.Memories = append(t.Memories, memory.Memory{
			ID: m.ID, Kind: m.Kind, Content: m.Content, Topic: m.Topic, Slot: m.Slot, Keywords: m.Keywords,
			EventTime: m.EventTime, ValidFrom: m.ValidFrom, Status: m.Status,
		})
	}
	return llm.Alias("m", i)
}

// memory returns the memory of an alias.
func (t *trail) memory(alias string) (memory.Memory, bool) {
	for i, m := range t.Memories {
		if llm.Alias("m", i) == alias {
			return m, true
		}
	}
	return memory.Memory{}, false
}

// searchesLeft is how many queries the agent may still make: none in its last step.
func (s *agentSession) searchesLeft() int {
	if len(s.trail.Steps) >= s.bounds.Steps-1 {
		return 0
	}
	return max(0, s.bounds.Searches-s.trail.searches())
}

// view is the data of the prompt.
type view struct {
	Context  []llm.ShownContext `json:"context,omitempty"`
	Turns    []llm.ShownTurn    `json:"turns"`
	Steps    []step             `json:"steps"`
	Memories []llm.ShownMemory  `json:"memories"`
	Left     int                `json:"searches_left"`
	AtOnce   int                `json:"queries_at_once"`
}

func (s *agentSession) view() view {
	v := view{
		Context: llm.ShowContext(s.in.Session.Context, s.turns), Turns: llm.ShowTurns(s.turns),
		Steps: append([]step{}, s.trail.Steps...), Memories: []llm.ShownMemory{},
		Left: s.searchesLeft(), AtOnce: min(s.searchesLeft(), s.bounds.AtOnce),
	}
	for i, m := range s.trail.Memories {
		v.Memories = append(v.Memories, llm.ShowMemory(llm.Alias("m", i), m))
	}
	return v
}

// waiting are the turns that there are candidates of; the others are in the bank already.
func waiting(in formation.Bundle) []memory.Turn {
	wanted := map[string]bool{}
	for _, r := range in.Related {
		for _, id := range r.Candidate.Sources {
			wanted[id] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(in.Session.Turns), func(t memory.Turn) bool { return !wanted[t.ID] })
}

// searchTexts are the turns as candidates. They are no statements: they only say which turns wait.
func searchTexts(in formation.Session) []formation.Candidate {
	var out []formation.Candidate
	for _, t := range in.Turns {
		said := text.Cut(text.OneLine(t.Text+" "+t.Caption), maxCueBytes)
		if said == "" {
			continue
		}
		out = append(out, formation.Candidate{Kind: memory.KindEpisodic, Content: said, Sources: []string{t.ID},
			Neighbours: formation.NoNeighbours})
	}
	return out
}
