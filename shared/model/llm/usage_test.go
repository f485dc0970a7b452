package llm_test

import (
	"testing"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

func TestUsageCountsEveryAnswer(t *testing.T) {
	s := llmtest.New(t)
	s.Script(llm.RoleGenerator, llmtest.Status(500), llmtest.Text("the first of the answers"),
		llmtest.Text("the second of the answers"))
	c := s.Client(t)
	var outer, inner llm.Usage
	ctx := llm.WithUsage(t.Context(), &outer)
	ask := func(u *llm.Usage) {
		t.Helper()
		asked := ctx
		if u != nil {
			asked = llm.WithUsage(ctx, u)
		}
		parse := func(answer string) (string, error) { return answer, nil }
		r := llm.Request{Role: llm.RoleGenerator, Scope: memory.Scope{Tenant: "acme"}, System: "s", User: "u"}
		if _, err := llm.Ask(asked, c, r, parse); err != nil {
			t.Fatal(err)
		}
	}
	ask(nil) // a failure and an answer
	ask(&inner)
	if outer.Calls() != 2 || inner.Calls() != 1 || inner.InputTokens() <= 0 || inner.OutputTokens() <= 0 ||
		outer.InputTokens() <= inner.InputTokens() {
		t.Errorf("outer %d calls, %d and %d tokens; inner %d, %d and %d", outer.Calls(), outer.InputTokens(),
			outer.OutputTokens(),
			inner.Calls(), inner.InputTokens(), inner.OutputTokens())
	}
}
