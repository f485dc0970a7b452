package utilizer_test

import (
	"testing"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/recall/embedded"
	recallllm "github.com/mneme-memory/mneme/shared/recall/llm"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// A profile by a model would be a second call before the one that answers.
func TestAnAnswerTakesNoProfileByAModel(t *testing.T) {
	r := newFixture(t)
	r.Policies = func(tenant.Policy) (recall.Profiler, recall.Generator, error) {
		return unavailableProfiler{}, embedded.NewGenerator(), nil
	}
	got, err := r.as(acmeKey).Answer(t.Context(), ask(&mnemev1.AnswerRequest{Recall: &mnemev1.RecallRequest{UserId: "ana",
		Query: "Where does Ana live?"}}))
	if err != nil || got.Msg.GetAbstained() || len(got.Msg.GetRecall().GetDegraded()) != 0 {
		t.Errorf("got %v, %v; want an answer for which the model's profiler, which is unavailable, was not asked", got, err)
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
	server.Script(llm.RoleGenerator, llmtest.Text("In Porto.")) // without a citation: it has to be repaired
	if c := answer(); c.GetModelCalls() != 2 || c.GetInputTokens() == 0 || c.GetOutputTokens() == 0 || c.GetGenerateMs() <= 0 {
		t.Errorf("with a model: %v", c)
	}
}
