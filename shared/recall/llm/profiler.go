package llm

import (
	"context"
	"fmt"
	"slices"

	"github.com/mneme-memory/mneme/shared/memory"
	model "github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
	"github.com/mneme-memory/mneme/shared/recall"
)

// Profiler writes profiles by a model. It is safe for concurrent use.
type Profiler struct {
	role   role
	schema structured.Schema
	budget int
}

var _ recall.Profiler = (*Profiler)(nil)

// profileAnswer is the profiler's answer.
type profileAnswer struct {
	Nothing  bool            `json:"nothing" desc:"true when nothing bears on the question, and then sections is empty"`
	Sections []answerSection `json:"sections"`
}

type answerSection struct {
	Name  string       `json:"name" enum:"core|constraints|preferences|recent|timeline"`
	Lines []answerLine `json:"lines"`
}

type answerLine struct {
	Text  string `json:"text" desc:"one statement, without bracketed numbers"`
	Cites []int  `json:"cites" desc:"numbers n of the memories it rests on"`
}

// evidence is what the model sees.
type evidence struct {
	Question string        `json:"question"`
	Now      string        `json:"now"`
	Core     string        `json:"core,omitempty"`
	Memories []shownMemory `json:"memories"`
	Recent   []shownTurn   `json:"recent"`
}

type shownMemory struct {
	N       int    `json:"n"`
	Kind    string `json:"kind"`
	Content string `json:"content"`
	Speaker string `json:"speaker,omitempty"`
	Said    string `json:"said"`
	When    string `json:"when,omitempty"`
	Status  string `json:"status"`
	// Dialogue is what was said, where the entry keeps it beside its summary.
	Dialogue string `json:"dialogue,omitempty"`
}

type shownTurn struct {
	Time    string `json:"time"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
	Picture string `json:"picture,omitempty"`
}

// NewProfiler makes a profiler. A prompt that does not work is an error here, not later.
func NewProfiler(client *model.Client, opts Options) (*Profiler, error) {
	r, err := newRole(client, model.RoleUtilizer, "utilizer.v3", opts)
	if err != nil {
		return nil, fmt.Errorf("llm utilizer: %w", err)
	}
	return &Profiler{role: r, schema: structured.SchemaOf[profileAnswer]("mneme_utilizer"), budget: opts.WordBudget}, nil
}

// Version is prompt version and model.
func (p *Profiler) Version() string { return p.role.version() }

// Profile asks once. Without evidence the profile is empty and nothing is asked; with evidence it is
// empty only when the model says that nothing bears on the question.
func (p *Profiler) Profile(ctx context.Context, scope memory.Scope, e recall.Evidence) (recall.Profile, error) {
	if len(e.Memories) == 0 && len(e.Window) == 0 && e.Core.Content == "" {
		return recall.Profile{}, nil
	}
	budget := e.WordBudget
	if budget <= 0 {
		budget = p.budget
	}
	req, err := p.role.request(scope.Tenant, show(e), params{WordBudget: budget})
	if err != nil {
		return recall.Profile{}, err
	}
	req.Schema = &p.schema
	return model.AskJSON(ctx, p.role.client, req, func(a profileAnswer) (recall.Profile, error) {
		lines, err := a.check(len(e.Memories), map[string]bool{recent: len(e.Window) > 0, core: e.Core.Content != ""})
		if err != nil {
			return recall.Profile{}, err
		}
		return assemble(lines, e.Memories, budget), nil
	})
}

func show(e recall.Evidence) evidence {
	out := evidence{Question: e.Query, Now: model.ShowTime(e.Now), Core: e.Core.Content, Memories: []shownMemory{}, Recent: []shownTurn{}}
	for i, m := range e.Memories {
		if i > 0 && m.Value == e.Memories[i-1].Value && slices.Equal(m.Sources, e.Memories[i-1].Sources) {
			m.Value = "" // it stands there once already
		}
		out.Memories = append(out.Memories, shownMemory{
			N: i + 1, Kind: string(m.Kind), Content: m.Content, Speaker: m.Speaker, Said: model.ShowTime(m.ValidFrom),
			When:   model.ShowEvent(m.EventTime),
			Status: string(m.Status), Dialogue: m.Value,
		})
	}
	for _, t := range e.Window {
		out.Recent = append(out.Recent, shownTurn{Time: model.ShowTime(t.Time), Speaker: t.Speaker, Text: t.Text, Picture: t.Caption})
	}
	return out
}
