package utilizer_test

import (
	"context"
	"slices"
	"testing"
	"time"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/recall/embedded"
	recallllm "github.com/mneme-memory/mneme/shared/recall/llm"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// A model's profile is an additional call before the answer. The profile comes from a model only if the caller's
// deadline leaves time for both calls.
func TestAnAnswersProfileIsWrittenByAModelWhereTimeAllows(t *testing.T) {
	r := newFixture(t)
	r.AnswerTime = 10 * time.Second
	r.asksModels(t)
	r.Policies = func(tenant.Policy) (recall.Profiler, recall.Generator, error) {
		return unavailableProfiler{}, embedded.NewGenerator(), nil
	}
	for _, tc := range []struct {
		left  time.Duration
		asked bool
	}{{time.Minute, true}, {0, true}, {9 * time.Second, false}} {
		ctx := t.Context()
		if tc.left > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, tc.left)
			defer cancel()
		}
		got, err := r.as(acmeKey).Answer(ctx, ask(&mnemev1.AnswerRequest{Recall: &mnemev1.RecallRequest{UserId: "ana",
			Query: "Where does Ana live?"}}))
		if err != nil || got.Msg.GetAbstained() {
			t.Fatalf("%s left: %v, %v", tc.left, got, err)
		}
		degraded := got.Msg.GetRecall().GetDegraded() // the called profiler is unavailable
		if tc.asked != slices.Contains(degraded, string(utilizer.ModelUnavailable)) {
			t.Errorf("%s left: degraded %v, asked should be %t", tc.left, degraded, tc.asked)
		}
		if c := got.Msg.GetCost(); c.GetProfileMs() <= 0 || c.GetProfileMs() > c.GetRecallMs() {
			t.Errorf("cost %v", c)
		}
	}
}

// Without a model, a question of a user who talks alone is not answered with unrelated memories. A request still gets
// memories as constraints.
func TestWhatNobodyToldIsNotAnswered(t *testing.T) {
	r := newFixture(t)
	for query, answered := range map[string]bool{
		"Where does Ana live?": true, "Which airline lost Oskar's suitcase?": false, "Does Oskar own a motorcycle?": false,
		"Which airline lost my suitcase?": false, "Suggest a motorcycle for me": true,
	} {
		got, err := r.as(acmeKey).Answer(t.Context(),
			ask(&mnemev1.AnswerRequest{Recall: &mnemev1.RecallRequest{UserId: "ana", Query: query}}))
		if err != nil || got.Msg.GetAbstained() == answered || (len(got.Msg.GetCitedIds()) > 0) != answered ||
			!answered && got.Msg.GetAnswer() != recall.Abstention {
			t.Errorf("%s: %v, %v", query, got.Msg.GetAnswer(), err)
		}
	}
}

// failingGenerator returns an error.
type failingGenerator struct{ error }

func (f failingGenerator) Answer(
	context.Context, memory.Scope, recall.Evidence, recall.Profile,
) (recall.Answer, error) {
	return recall.Answer{}, f.error
}

func TestWithoutABudgetOrAnAnswerOneIsMadeWithoutAModelAndSaysSo(t *testing.T) {
	for what, why := range map[string]error{"model_budget": llm.ErrBudget, "model_unusable": llm.ErrRefused} {
		r := newFixture(t)
		r.asksModels(t)
		r.Policies = func(p tenant.Policy) (recall.Profiler, recall.Generator, error) {
			if p == tenant.PolicyLLM {
				return embedded.NewProfiler(), failingGenerator{why}, nil
			}
			return embedded.NewProfiler(), embedded.NewGenerator(), nil
		}
		asked := &mnemev1.RecallRequest{UserId: "ana", Query: "Where does Ana live?"}
		got, err := r.as(acmeKey).Answer(t.Context(), ask(&mnemev1.AnswerRequest{Recall: asked}))
		if err != nil || got.Msg.GetAbstained() || !slices.Equal(got.Msg.GetRecall().GetDegraded(), []string{what}) {
			t.Errorf("%s: got %v, %v", what, got, err)
		}
		f, err := contract.DecodeFeedback(r.out.msgs[0].Key, r.out.msgs[0].Value, now)
		if err != nil || f.Source != contract.CitationEmbedded {
			t.Errorf("%s: reported %+v, %v; want citations that no model made", what, f, err)
		}
	}
}

func TestAnAnswerSaysWhatItCost(t *testing.T) {
	r := newFixture(t)
	answer := func() *mnemev1.AnswerCost {
		t.Helper()
		got, err := r.as(acmeKey).Answer(t.Context(), ask(&mnemev1.AnswerRequest{Recall: &mnemev1.RecallRequest{UserId: "ana",
			Query: "Where does Ana live?"}}))
		if err != nil {
			t.Fatal(err)
		}
		return got.Msg.GetCost()
	}
	if c := answer(); c == nil || c.GetModelCalls() != 0 || c.GetInputTokens() != 0 || c.GetRecallMs() <= 0 {
		t.Errorf("without a model: %v", c)
	}
	server := llmtest.New(t)
	generator, err := recallllm.NewGenerator(server.Client(t), recallllm.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	r.Policies = func(tenant.Policy) (recall.Profiler, recall.Generator, error) {
		return embedded.NewProfiler(), generator, nil
	}
	server.Script(llm.RoleGenerator, llmtest.Text("In Porto.")) // without a citation: the answer must be repaired
	if c := answer(); c.GetModelCalls() != 2 || c.GetInputTokens() == 0 || c.GetOutputTokens() == 0 ||
		c.GetGenerateMs() <= 0 {
		t.Errorf("with a model: %v", c)
	}
}
