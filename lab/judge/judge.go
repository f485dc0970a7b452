// Package judge has a model judge answers, banks and profiles, as SaliMory does (B.3, E.1 to E.3). The prompts are
// ours.
package judge

import (
	"context"
	"embed"
	"slices"
	"strconv"

	"github.com/mneme-memory/mneme/lab/reward"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

//go:embed prompts/*.tmpl
var prompts embed.FS

// Role is the role of the judging model. The model without a role serves it.
const Role llm.Role = "judge"

// perCall is the number of entries in one call.
const perCall = 20

// Model is a reward.Judge by a model. A missing judgement is one of package llm's errors. A retry may help with all
// of them, since the input is fine.
type Model struct {
	client *llm.Client
	scope  memory.Scope
	// One a kind of question. The last three are the steps of the judge of personalization.
	response, entries, utilization, personal, quality, signals ask
}

// ask is a prompt with the form of its answers.
type ask struct {
	prompt llm.Prompt
	schema structured.Schema
}

// NewModel makes a judge. The model's calls are for the tenant.
func NewModel(client *llm.Client, tenant string) (*Model, error) {
	m := &Model{client: client, scope: memory.Scope{Tenant: tenant}}
	for _, a := range []struct {
		to     *ask
		file   string
		schema structured.Schema
	}{
		{&m.response, "response.v1.tmpl", structured.SchemaOf[responseAnswer]("response")},
		{&m.entries, "entries.v1.tmpl", structured.SchemaOf[entriesAnswer]("entries")},
		{&m.utilization, "utilization.v1.tmpl", structured.SchemaOf[utilizationAnswer]("utilization")},
		{&m.personal, "personal.v1.tmpl", structured.SchemaOf[personalAnswer]("personal")},
		{&m.quality, "quality.v1.tmpl", structured.SchemaOf[qualityAnswer]("quality")},
		{&m.signals, "signals.v1.tmpl", structured.SchemaOf[signalsAnswer]("signals")},
	} {
		prompt, err := llm.LoadPrompt(prompts, "", "prompts/"+a.file, nil)
		if err != nil {
			return nil, err
		}
		*a.to = ask{prompt, a.schema}
	}
	return m, nil
}

var _ reward.Judge = (*Model)(nil)

// Response implements reward.Judge (E.1).
func (m *Model) Response(ctx context.Context, a reward.Answered) (reward.Response, error) {
	if err := a.CheckMarked(); err != nil {
		return reward.Response{}, err
	}
	data := shown(a)
	data.Answer, data.Golden, data.NoLonger = &a.Answer, a.Golden, a.Outdated
	return asked(ctx, m, m.response, data, func(r responseAnswer) (reward.Response, error) {
		out := reward.Response{Accuracy: r.Accuracy, Applicable: r.Applicable}
		if !r.Applicable {
			return out, share("accuracy", r.Accuracy)
		}
		out.Personalization = r.Personalization
		return out, firstError(share("accuracy", r.Accuracy), share("personalization", r.Personalization))
	})
}

// Entries implements reward.Judge (E.2). The model sees each entry with its source utterances (B.4).
func (m *Model) Entries(ctx context.Context, bank []reward.BankEntry) (out reward.Entries, err error) {
	for some := range slices.Chunk(bank, perCall) {
		var data entriesData
		for i, e := range some {
			data.Entries = append(data.Entries, entryData{ID: id(i), Text: e.Text, From: encodeUtterances(e.From)})
		}
		counts, err := asked(ctx, m, m.entries, data, func(a entriesAnswer) (reward.Entries, error) {
			return a.count(len(some))
		})
		if err != nil {
			return reward.Entries{}, err
		}
		out.All, out.Factual, out.Vague = out.All+counts.All, out.Factual+counts.Factual, out.Vague+counts.Vague
	}
	return out, nil
}

// Utilization implements reward.Judge (E.3).
func (m *Model) Utilization(ctx context.Context, a reward.Answered) (float64, error) {
	if err := a.CheckMarked(); err != nil {
		return 0, err
	}
	data := shown(a)
	profile := append([]string{}, a.Profile...) // an empty profile, not an unknown one
	data.Profile, data.Golden, data.NoLonger = &profile, a.Golden, a.Outdated
	return asked(ctx, m, m.utilization, data, func(u utilizationAnswer) (float64, error) {
		return u.Utilization, share("utilization", u.Utilization)
	})
}

// Personalization implements reward.Judge (B.3). The first step decides whether the answer is personal. The second
// rates a personal answer. The third, in place of the second, decides whether the answer could have been personal.
func (m *Model) Personalization(ctx context.Context, a reward.Answered) (reward.Personalization, error) {
	if err := a.CheckAsked(); err != nil {
		return "", err
	}
	data := shown(a)
	data.Answer = &a.Answer
	personal, err := asked(ctx, m, m.personal, data, func(p personalAnswer) (bool, error) { return p.Personal, nil })
	switch {
	case err != nil:
		return "", err
	case personal:
		data.Golden, data.NoLonger = a.Golden, a.Outdated
		return asked(ctx, m, m.quality, data, func(q qualityAnswer) (reward.Personalization, error) { return q.class(), nil })
	case len(a.Memory) == 0:
		return reward.PersonalizationNone, nil
	}
	return asked(ctx, m, m.signals, data, func(s signalsAnswer) (reward.Personalization, error) {
		if s.Missed {
			return reward.PersonalizationUnderuse, nil
		}
		return reward.PersonalizationNone, nil
	})
}

// asked calls the model with data.
func asked[A, T any](ctx context.Context, m *Model, a ask, data any, use func(A) (T, error)) (T, error) {
	system, user, err := a.prompt.Render(data, nil)
	if err != nil {
		var none T
		return none, err
	}
	return llm.AskJSON(ctx, m.client, llm.Request{
		Role: Role, Scope: m.scope, Prompt: a.prompt.Version, System: system, User: user, Schema: &a.schema,
	}, use)
}

// share returns an error for a value outside 0 to 1.
func share(field string, v float64) error {
	if !(v >= 0 && v <= 1) {
		return structured.Faultf("$.%s: want 0 to 1", field)
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// id returns the name of an entry in a call.
func id(i int) string { return "e" + strconv.Itoa(i+1) }
