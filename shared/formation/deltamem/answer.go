package deltamem

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
	"github.com/mneme-memory/mneme/shared/text"
)

// Bounds of the agent's output, in bytes. A longer thought is cut, since no result depends on it.
const (
	maxQueryBytes   = 400
	maxThoughtBytes = 600
)

// answer is the agent's answer: its reasoning, and then either queries or the end.
type answer struct {
	Thought    string   `json:"thought,omitempty" desc:"one or two sentences: what may be known already, and what follows from what was found"`
	Action     string   `json:"action" enum:"search|finish"`
	Queries    []string `json:"queries,omitempty" desc:"for search: what to look for in the memory, one matter each; else empty"`
	Nothing    bool     `json:"nothing,omitempty" desc:"for finish: true when the turns hold nothing worth remembering; then no operations"`
	Operations []edit   `json:"operations,omitempty" desc:"for finish: what becomes of the memory; else empty"`
}

// edit is one operation of the agent's.
type edit struct {
	structured.Item
	Op             string   `json:"op" enum:"ADD|UPDATE|NONE"`
	Target         string   `json:"target,omitempty" desc:"id of the memory to update, or that says it already; empty for ADD"`
	Sources        []string `json:"sources" desc:"ids of the turns it comes from"`
	Kind           string   `json:"kind" enum:"fact|preference|episodic|semantic|procedural"`
	Content        string   `json:"content,omitempty" desc:"the sentence to remember for ADD and UPDATE, else empty"`
	Topic          string   `json:"topic,omitempty" desc:"one or two words"`
	Keywords       []string `json:"keywords,omitempty"`
	EventDate      string   `json:"event_date,omitempty" desc:"YYYY-MM-DD, YYYY-MM, YYYY or empty"`
	EventPrecision string   `json:"event_precision,omitempty" enum:"day|week|month|year|none"`
	EventWords     string   `json:"event_words,omitempty" desc:"the speaker's words for the time, or empty"`
}

// next is the content of an answer: a step with searches, or the operations.
type next struct {
	step       step
	operations []memory.Operation
	failed     []formation.Failure
}

// Touched returns the entries and turns of the operations; a step that searches touches none.
func (n next) Touched(scope memory.Scope) memory.Touch { return memory.Touched(scope, n.operations) }

// Parts is how many operations there are.
func (n next) Parts() int { return len(n.operations) }

// readAnswer reads an answer; an error is a fault of package structured.
func (s *agentSession) readAnswer(a answer, version string) (next, error) {
	out := next{step: step{Thought: text.Cut(text.OneLine(strings.ReplaceAll(a.Thought, "\x00", "")), maxThoughtBytes)}}
	var err error
	if a.Action == "search" {
		out.step.Searches, err = s.queries(a)
	} else {
		out.operations, out.failed, err = s.finish(a, version)
	}
	if err != nil && !structured.IsPartly(err) {
		return next{}, err
	}
	return out, err
}

func (s *agentSession) queries(a answer) ([]search, error) {
	left, most := s.searchesLeft(), min(s.searchesLeft(), s.bounds.AtOnce)
	switch {
	case len(a.Operations) > 0 || a.Nothing:
		return nil, structured.Faultf("action is search, yet there are operations; search first, or finish")
	case left == 0:
		return nil, structured.Faultf("no searches are left; action must be finish")
	case len(a.Queries) == 0:
		return nil, structured.Faultf("action is search without queries")
	case len(a.Queries) > most:
		return nil, structured.Faultf("there are %d queries; want at most %d", len(a.Queries), most)
	}
	asked := map[string]bool{}
	for _, st := range s.trail.Steps {
		for _, q := range st.Searches {
			asked[text.Canonical(q.Query)] = true
		}
	}
	var out []search
	for i, q := range a.Queries {
		q = strings.TrimSpace(q)
		switch key := text.Canonical(q); {
		case q == "" || len(q) > maxQueryBytes || strings.ContainsRune(q, 0) || !utf8.ValidString(q):
			return nil, structured.Faultf("query %d: want text of 1 to %d bytes", i+1, maxQueryBytes)
		case asked[key]:
			return nil, structured.Faultf("query %d was made already", i+1)
		default:
			asked[key] = true
		}
		out = append(out, search{Query: q, Found: []string{}})
	}
	return out, nil
}

func (s *agentSession) finish(a answer, version string) ([]memory.Operation, []formation.Failure, error) {
	if len(a.Queries) > 0 {
		return nil, nil, structured.Faultf("action is finish, yet there are queries")
	}
	if err := llm.CheckNothing(a.Nothing, len(a.Operations)); err != nil {
		return nil, nil, err
	}
	l := newOperationLog(s, version)
	var refusals llm.Refusals
	for i, e := range a.Operations {
		if err := l.enter(e); err != nil {
			refusals.Refuse(fmt.Sprintf("operation %d", i+1), l.sources(e), err)
			continue
		}
		refusals.Take()
	}
	return l.close(), refusals.Failed, refusals.Err()
}
