package recall

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

//go:embed prompts/*.tmpl
var prompts embed.FS

// Roles of models in an evaluation. The default model serves them.
const (
	roleJudge   llm.Role = "judge"
	roleHistory llm.Role = "full-context"
)

// Judge marks answers with a model. It is safe for concurrent use.
type Judge struct {
	client, answers *llm.Client
	tenant          string
	judge, history  llm.Prompt
	schema          structured.Schema
}

// marking is the judge's input; verdict is its output.
type marking struct {
	Question  string `json:"question"`
	Reference string `json:"reference"`
	// Turns are the turns behind the reference answer, if they are known.
	Turns  []recorded `json:"turns,omitempty"`
	Answer string     `json:"answer"`
}

type verdict struct {
	Reason string `json:"reason"`
	Right  bool   `json:"right"`
}

// record is the input of an answer without memory.
type record struct {
	Turns    []recorded `json:"turns"`
	Question string     `json:"question"`
}

type recorded struct {
	Said string `json:"said"`
	Text string `json:"text"`
}

// NewJudge makes a judge. tenant is the tenant of the requests. client's model marks answers. The model of answers
// answers from the whole history. A model marks its own answers leniently, so the two models should differ.
func NewJudge(client, answers *llm.Client, tenant string) (*Judge, error) {
	j := &Judge{client: client, answers: answers, tenant: tenant, schema: structured.SchemaOf[verdict]("verdict")}
	var err error
	if j.judge, err = llm.LoadPrompt(prompts, "", "prompts/judge.v2.tmpl", nil); err != nil {
		return nil, err
	}
	if j.history, err = llm.LoadPrompt(prompts, "", "prompts/history.v1.tmpl", nil); err != nil {
		return nil, err
	}
	return j, nil
}

// Right reports whether an answer is right. The judge looks up the supporting statements among turns.
func (j *Judge) Right(ctx context.Context, q dataset.Question, answer string, turns []memory.Turn) (bool, error) {
	m := marking{Question: q.Text, Reference: q.Answer, Answer: answer}
	for _, t := range turns {
		if slices.Contains(q.Evidence, t.ID) {
			m.Turns = append(m.Turns, recorded{t.Time.Format(time.DateTime), spoken(t)})
		}
	}
	system, user, err := j.judge.Render(m, nil)
	if err != nil {
		return false, err
	}
	req := llm.Request{
		Role: roleJudge, Scope: memory.Scope{Tenant: j.tenant}, Prompt: j.judge.Version, System: system, User: user,
		Schema: &j.schema,
	}
	return llm.AskJSON(ctx, j.client, req, func(v verdict) (bool, error) { return v.Right, nil })
}

// FromHistory answers a question from all turns.
func (j *Judge) FromHistory(ctx context.Context, q dataset.Question, turns []memory.Turn) (string, error) {
	in := record{Question: q.Text, Turns: make([]recorded, 0, len(turns))}
	for _, t := range turns {
		if q.AskedAt.IsZero() || !t.Time.After(q.AskedAt) {
			in.Turns = append(in.Turns, recorded{t.Time.Format(time.DateTime), spoken(t)})
		}
	}
	system, user, err := j.history.Render(in, nil)
	if err != nil {
		return "", err
	}
	req := llm.Request{Role: roleHistory, Scope: memory.Scope{Tenant: j.tenant}, Prompt: j.history.Version, System: system,
		User: user}
	return llm.Ask(ctx, j.answers, req, func(text string) (string, error) { return strings.TrimSpace(text), nil })
}

// Names of marks.
const (
	markF1    = "f1"
	markBLEU  = "bleu_1"
	markJudge = "judge"
	// fullContext is the prefix of marks for answers from the whole history.
	fullContext = "full_context_"
)

// mark compares an answer with the right one, if configured.
func (r *run) mark(ctx context.Context, a *asked) error {
	if a.question.Unanswerable || a.question.Answer == "" || (!r.Answers && r.Judge == nil) {
		return nil
	}
	if err := r.markOne(ctx, a, "", a.why.GetAnswer().GetAnswer()); err != nil || r.Judge == nil {
		return err
	}
	whole, err := r.Judge.FromHistory(ctx, a.question, a.of.turns)
	if err != nil {
		return fmt.Errorf("answer from the history: %w", err)
	}
	return r.markOne(ctx, a, fullContext, whole)
}

func (r *run) markOne(ctx context.Context, a *asked, prefix, answer string) error {
	a.marks[prefix+markF1], a.marks[prefix+markBLEU] = score.F1(answer, a.question.Answer),
		score.BLEU1(answer, a.question.Answer)
	if r.Judge == nil {
		return nil
	}
	right, err := r.Judge.Right(ctx, a.question, score.WithoutCitations(answer), a.of.turns)
	if err != nil {
		return fmt.Errorf("judge: %w", err)
	}
	a.marks[prefix+markJudge] = truth(right)
	return nil
}
