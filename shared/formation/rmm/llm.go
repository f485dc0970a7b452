package rmm

import (
	"context"
	"embed"
	"slices"
	"strings"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

//go:embed prompts/*.tmpl
var prompts embed.FS

// LLM is the strategy by a language model. One call finds the topics of all speakers of the session. One call adds or
// merges them. It is safe for concurrent use.
type LLM struct{ llm.Pair }

var _ formation.Divisible = (*LLM)(nil)

// NewLLM makes the former. A prompt that does not work is an error here, not later.
func NewLLM(client *model.Client, opts llm.Options) (*LLM, error) {
	p, err := llm.NewPair[reflection, decisions](client, Name, prompts, opts,
		llm.PairRole{Role: model.RoleTopics, Prompt: "rmm-topics.v4", Schema: "mneme_rmm_topics"},
		llm.PairRole{Role: model.RoleTopicManager, Prompt: "rmm-manager.v3", Schema: "mneme_rmm_manager"})
	return &LLM{p}, err
}

// reflection is the answer on the session's topics. An empty list alone could be a failure to answer. The model must
// therefore state that the turns hold nothing worth keeping.
type reflection struct {
	Nothing bool    `json:"nothing" desc:"true when nobody tells anything personal, and then topics is empty"`
	Topics  []topic `json:"topics"`
}

// topic is what one speaker tells about one matter.
type topic struct {
	structured.Item
	Speaker        string   `json:"speaker" desc:"whose topic it is, copied from the turns"`
	Turns          []string `json:"turns" desc:"ids of the turns in which it is talked about"`
	Summary        string   `json:"summary" desc:"what the speaker tells about it, in the third person"`
	Label          string   `json:"label" desc:"the topic in one or two words"`
	Kind           string   `json:"kind" enum:"fact|preference|episodic|semantic|procedural"`
	EventDate      string   `json:"event_date,omitempty" desc:"YYYY-MM-DD, YYYY-MM, YYYY or empty"`
	EventPrecision string   `json:"event_precision,omitempty" enum:"day|week|month|year|none"`
	EventWords     string   `json:"event_words,omitempty" desc:"the speaker's words for the time, or empty"`
}

// Extract asks once for the topics of all speakers. An empty result requires that the model states it. Every other
// answer without topics is an error. Without turns, Extract makes no call.
func (f *LLM) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	of := func(a reflection) (bool, []topic) { return a.Nothing, a.Topics }
	return llm.Extract(ctx, f.Extractor, in, of, func(t topic) (formation.Candidate, int, error) {
		return t.candidate(in.Turns)
	})
}

// candidate checks a topic. Its speaker must say something in one of its turns: what only another one says is the
// other's topic.
func (t topic) candidate(turns []memory.Turn) (formation.Candidate, int, error) {
	s := llm.Statement{
		Item: t.Item, Sources: t.Turns, Kind: t.Kind, Content: t.Summary, Topic: t.Label,
		EventDate: t.EventDate, EventPrecision: t.EventPrecision, EventWords: t.EventWords,
	}
	c, first, err := s.Candidate(turns)
	if err != nil {
		return c, first, err
	}
	for _, turn := range turns {
		own := strings.EqualFold(strings.TrimSpace(turn.Speaker), strings.TrimSpace(t.Speaker))
		if own && slices.Contains(c.Sources, turn.ID) {
			c.Keywords = owned(ownerOf(turn), nil)
			return c, first, nil
		}
	}
	return c, first, structured.Faultf("none of its turns is its speaker's; name the speaker as the turns do, with a " +
		"turn of theirs")
}

// decisions is the manager's answer.
type decisions struct {
	Operations []decided `json:"operations" desc:"one for every candidate, in the order they are to be carried out"`
}

type decided struct {
	structured.Item
	Candidate string `json:"candidate" desc:"the candidate's id"`
	Op        string `json:"op" enum:"Add|Merge"`
	Target    string `json:"target,omitempty" desc:"Merge: id of the memory that it goes on with, else empty"`
	Summary   string `json:"summary,omitempty" desc:"Merge: the summary of both, else empty"`
}

// Decide asks once which topics are added and which are merged. Without candidates it asks nothing.
func (f *LLM) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	if len(in.Related) == 0 {
		return formation.Verdict{}, nil
	}
	in, shown := bySpeaker(in)
	input, err := f.Input(in)
	if err != nil {
		return formation.Verdict{}, err
	}
	return llm.Ask(ctx, f.Manager, in.Session.Scope, input, len(in.Related), func(a decisions) (formation.Verdict, error) {
		r, w := newReader(input, in), llm.NewWriter(input, llm.Identity{Strategy: Name, PolicyVersion: f.Version()})
		var verdict formation.Verdict
		for _, d := range a.Operations {
			decision, err := r.decision(d)
			if err != nil {
				w.Refuse(d.Candidate, err)
				continue
			}
			verdict.Operations = append(verdict.Operations, w.Take(decision)...)
		}
		withDialogue(verdict.Operations, in.Session.Turns, shown)
		var err error
		verdict.Failed, err = w.End()
		return verdict, err
	})
}

// bySpeaker reduces each candidate's entries to entries of its speaker, and returns all of these by id.
func bySpeaker(in formation.Bundle) (formation.Bundle, map[string]memory.Memory) {
	shown := map[string]memory.Memory{}
	related := make([]formation.Related, len(in.Related))
	for i, r := range in.Related {
		related[i].Candidate = r.Candidate
		for j, m := range r.Memories {
			if !belongs(m, ownerOfCandidate(r.Candidate)) {
				continue
			}
			related[i].Memories = append(related[i].Memories, m)
			if j < len(r.Similarity) {
				related[i].Similarity = append(related[i].Similarity, r.Similarity[j])
			}
			shown[m.ID] = m
		}
	}
	in.Related = related
	return in, shown
}

// reader turns the strategy's two operations into operations of the bank.
type reader struct {
	input   *llm.DecisionInput
	in      formation.Bundle
	indices map[string]int
	// content is the current content of an alias.
	content map[string]string
}

func newReader(b *llm.DecisionInput, in formation.Bundle) *reader {
	r := &reader{input: b, in: in, indices: map[string]int{}, content: map[string]string{}}
	for i := range in.Related {
		r.indices[llm.Alias("c", i)] = i
	}
	for _, m := range b.Memories {
		r.content[m.ID] = m.Content
	}
	return r
}

// decision reads one operation. A merge that leaves the summary as it is does nothing.
func (r *reader) decision(d decided) (llm.Decision, error) {
	out := llm.Decision{Candidate: d.Candidate, Op: memory.OpAdd, Reason: reasonAdded}
	if err := d.Misfit(); err != nil {
		return out, err
	}
	i, known := r.indices[d.Candidate]
	if !known {
		return out, structured.Faultf("no such candidate; the ids are c1 to c%d", len(r.indices))
	}
	if d.Op == "Add" {
		if d.Target != "" {
			return out, structured.Faultf("Add has a target; want none")
		}
		r.content[d.Candidate] = r.in.Related[i].Candidate.Content
		return out, nil
	}
	if err := r.mayMerge(i, d.Target); err != nil {
		return out, err
	}
	out.Op, out.Reason, out.Targets, out.Content = memory.OpMerge, reasonMerged, []string{d.Target}, d.Summary
	summary, err := llm.CheckContent(d.Summary)
	if err != nil {
		return out, err
	}
	if summary == r.content[d.Target] {
		out.Op, out.Reason, out.Content = memory.OpNone, reasonRepeated, ""
		return out, nil
	}
	r.content[d.Candidate] = summary
	return out, nil
}

// mayMerge checks that a target is a valid choice for its candidate: a memory shown as related to it, or a topic of
// the same speaker.
func (r *reader) mayMerge(candidate int, target string) error {
	c := r.in.Related[candidate].Candidate
	if i, ok := r.indices[target]; slices.Contains(r.input.Candidates[candidate].Related, target) ||
		ok && i != candidate && ownerOfCandidate(r.in.Related[i].Candidate) == ownerOfCandidate(c) {
		return nil
	}
	return structured.Faultf("target %s is neither related to it nor a topic of the same speaker",
		structured.Alias(target))
}
