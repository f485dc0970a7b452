package modelcheck

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/recall"
)

// cases.json has the labelled cases of each role.
//
//go:embed cases.json
var caseFile []byte

var cases = sync.OnceValue(func() (out map[llm.Role][]labelled) {
	if err := json.Unmarshal(caseFile, &out); err != nil {
		panic(err)
	}
	return out
})

// labelled is a case of a role. Fields of other roles are empty.
type labelled struct {
	Name string
	// Lines are a conversation, "Speaker: text" each. The speaker Assistant is an assistant. For the utilizer and the
	// generator, the lines are the memories that recall found.
	Lines []string
	// Worth says whether the last line is worth remembering.
	Worth bool
	// Memories are similar entries in the bank.
	Memories []entry
	// Wanted are the expected statements. Without them, the extractor must find nothing.
	Wanted []wanted
	// Left names the memories that stay unchanged after the line; exactly these do.
	Left []string
	// Writes says whether the manager writes a new memory.
	Writes bool
	// Words are words that a new memory or an answer has.
	Words []string
	// Query is the question.
	Query string
	// Places are the memories to cite, from 1. The profile must not cite memories at negative places. Other places are
	// free.
	Places []int
	// Place is the memory that the answer cites. Place 0 means that the generator abstains.
	Place int
}

// entry is an entry of the bank from a month before.
type entry struct{ ID, Content, Slot string }

// wanted describes one expected statement: words that it has, words that it must not have, and its other fields.
// Empty fields match everything.
type wanted struct {
	Words, Never []string
	Kind         memory.Kind
	Date         string
	Working      bool
}

// asking sends a case to the model of a role and describes the mistake in the decision. No words mean that the decision
// is right. The error is the model's failure.
var asking = map[llm.Role]func(labelled, context.Context, subject) (wrong string, err error){
	llm.RoleFilter: labelled.rate, llm.RoleExtractor: labelled.extract, llm.RoleManager: labelled.decide,
	llm.RoleUtilizer: labelled.profile, llm.RoleGenerator: labelled.answer,
}

// wednesday is the time of the conversations.
var wednesday = time.Date(2026, 3, 4, 18, 30, 0, 0, time.UTC)

func scope() memory.Scope { return memory.Scope{Tenant: Tenant, User: "case"} }

// turns builds turns from the lines of a conversation.
func (c labelled) turns() []memory.Turn {
	out := make([]memory.Turn, len(c.Lines))
	for i, line := range c.Lines {
		speaker, text, _ := strings.Cut(line, ": ")
		out[i] = memory.Turn{
			ID: "turn-" + strconv.Itoa(i+1), SessionID: "session", Speaker: speaker, Role: memory.RoleUser, Text: text,
			Time: wednesday.Add(time.Duration(i) * time.Minute),
		}
		if speaker == "Assistant" {
			out[i].Role = memory.RoleAssistant
		}
	}
	return out
}

func (c labelled) memories() []memory.Memory {
	var out []memory.Memory
	for _, e := range c.Memories {
		out = append(out, e.stored())
	}
	return out
}

func (e entry) stored() memory.Memory {
	at := wednesday.AddDate(0, -1, 0)
	return memory.Memory{
		ID: e.ID, Kind: memory.KindFact, Content: e.Content, Status: memory.StatusActive, Version: 1,
		Sources: []string{"before-" + e.ID}, SessionID: "before", ValidFrom: at, RecordedAt: at, Slot: e.Slot,
	}
}

// has reports whether a text has all words. Each word may list alternatives: "four|4".
func has(text string, words ...string) bool {
	text = strings.ToLower(text)
	return !slices.ContainsFunc(words, func(w string) bool {
		forms := strings.Split(strings.ToLower(w), "|")
		return !slices.ContainsFunc(forms, func(form string) bool { return strings.Contains(text, form) })
	})
}

func (c labelled) rate(ctx context.Context, s subject) (string, error) {
	said := c.turns()
	last := len(said) - 1
	decisions, err := s.filter.Filter(ctx, scope(), said[last:], said[:last])
	if err != nil || decisions[0].Salient == c.Worth {
		return "", err
	}
	d := decisions[0]
	return fmt.Sprintf("scores %.2f at a threshold of %.2f, which is wrong", d.Score, d.Threshold), nil
}

func (c labelled) extract(ctx context.Context, s subject) (string, error) {
	found, err := s.former.Extract(ctx, formation.Session{Scope: scope(), ID: "session", Turns: c.turns(),
		Known: c.memories()})
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(found, func(c formation.Candidate) bool { return c.Fault != "" }); i >= 0 {
		return "something found has not the form that is wanted: " + found[i].Fault, nil
	}
	for _, w := range c.Wanted {
		if !slices.ContainsFunc(found, w.is) {
			return "nothing found is as it should be of " + strings.Join(w.Words, " "), nil
		}
	}
	if len(c.Wanted) == 0 && len(found) > 0 {
		return "something is found where nothing is said", nil
	}
	return "", nil
}

func (w wanted) is(c formation.Candidate) bool {
	date := ""
	if !c.EventTime.Time.IsZero() {
		date = c.EventTime.Time.Format(time.DateOnly)
	}
	return has(c.Content, w.Words...) && !slices.ContainsFunc(w.Never, func(n string) bool { return has(c.Content, n) }) &&
		(w.Kind == "" || c.Kind == w.Kind) && strings.HasPrefix(date, w.Date) && c.Working == w.Working
}

func (c labelled) decide(ctx context.Context, s subject) (string, error) {
	memories := c.memories()
	in := formation.Bundle{Session: formation.Session{Scope: scope(), ID: "session", Turns: c.turns()}}
	said := formation.Candidate{Kind: memory.KindFact, Content: in.Session.Turns[0].Text, Sources: []string{"turn-1"},
		Vector: memory.Vector{1}}
	similar := slices.Repeat([]float64{0.8}, len(memories))
	in.Related = []formation.Related{{Candidate: said, Memories: memories, Similarity: similar}}
	verdict, err := s.former.Decide(ctx, in)
	if err != nil {
		return "", err
	}
	if len(verdict.Failed) > 0 {
		return "nothing could be decided: " + verdict.Failed[0].Reason, nil
	}
	plan, err := memory.Plan(scope(), verdict.Operations, memories, wednesday)
	if err != nil {
		return "", err
	}
	for _, m := range memories {
		closed := slices.ContainsFunc(plan.Close, func(c memory.Closing) bool { return c.ID == m.ID })
		if slices.Contains(c.Left, m.ID) == closed {
			return fmt.Sprintf("%s closed: %t, which is wrong", m.ID, closed), nil
		}
	}
	var text []string
	for _, m := range plan.Put {
		if m.Status == memory.StatusActive {
			text = append(text, m.Content)
		}
	}
	if len(text) > 0 != c.Writes {
		return fmt.Sprintf("something is written: %t, which is wrong", len(text) > 0), nil
	}
	if !has(strings.Join(text, "\n"), c.Words...) {
		return "what is written lacks " + strings.Join(c.Words, ", "), nil
	}
	return "", nil
}

// evidence builds the memories that recall found for the question.
func (c labelled) evidence() recall.Evidence {
	e := recall.Evidence{Query: query.Understand(query.Input{Text: c.Query, Now: wednesday}), WordBudget: 120}
	for i, content := range c.Lines {
		e.Memories = append(e.Memories, entry{ID: "m-" + strconv.Itoa(i+1), Content: content}.stored())
	}
	return e
}

func (c labelled) profile(ctx context.Context, s subject) (string, error) {
	p, err := s.profiler.Profile(ctx, scope(), c.evidence())
	if err != nil {
		return "", err
	}
	for _, place := range c.Places {
		id := "m-" + strconv.Itoa(max(place, -place))
		cited := slices.ContainsFunc(p.Cited, func(m memory.Memory) bool { return m.ID == id })
		if cited != (place > 0) {
			return fmt.Sprintf("%s cited: %t, which is wrong", id, cited), nil
		}
	}
	return "", nil
}

func (c labelled) answer(ctx context.Context, s subject) (string, error) {
	e := c.evidence()
	p := recall.Profile{Sections: []recall.Section{{Name: "constraints"}}, Cited: e.Memories}
	for i, l := range c.Lines {
		p.Sections[0].Lines = append(p.Sections[0].Lines, fmt.Sprintf("%s [%d]", l, i+1))
	}
	a, err := s.generator.Answer(ctx, scope(), e, p)
	switch {
	case err != nil:
		return "", err
	case (c.Place == 0) != a.Abstained:
		return fmt.Sprintf("abstains: %t, which is wrong", a.Abstained), nil
	case c.Place > 0 && !slices.Contains(a.Cited, "m-"+strconv.Itoa(c.Place)):
		return fmt.Sprintf("does not cite memory %d", c.Place), nil
	case !has(a.Text, c.Words...):
		return "the answer lacks " + strings.Join(c.Words, ", "), nil
	}
	return "", nil
}
