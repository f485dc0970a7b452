package utilizer_test

import (
	"testing"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/recall/embedded"
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
