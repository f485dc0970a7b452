package llmtest_test

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/formation"
	formationllm "github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	"github.com/mneme-memory/mneme/shared/query"
	"github.com/mneme-memory/mneme/shared/recall"
	recallllm "github.com/mneme-memory/mneme/shared/recall/llm"
)

func asked(text string) query.Query { return query.Understand(query.Input{Text: text, Now: start}) }

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	scope = memory.Scope{Tenant: "acme", User: "ana"}
	start = time.Date(2024, 5, 6, 9, 0, 0, 0, time.UTC)
)

// policy holds all decisions of a model.
type policy struct {
	filter    *formationllm.Filter
	former    *salimory.LLM
	profiler  *recallllm.Profiler
	generator *recallllm.Generator
}

func newPolicy(t *testing.T, c *llm.Client) (p policy) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	p.filter, err = formationllm.NewFilter(c, formationllm.DefaultOptions())
	must(err)
	p.former, err = salimory.NewLLM(c, formationllm.DefaultOptions())
	must(err)
	p.profiler, err = recallllm.NewProfiler(c, recallllm.DefaultOptions())
	must(err)
	p.generator, err = recallllm.NewGenerator(c, recallllm.DefaultOptions())
	must(err)
	return p
}

func conversation() []memory.Turn {
	var turns []memory.Turn
	for i, text := range []string{"Hi!", "I moved to Porto with my dog Bruno", "How are you doing today?",
		"I love green tea in the evening", "I love green tea in the evening"} {
		turns = append(turns, memory.Turn{
			ID: "turn-" + string(rune('a'+i)), SessionID: "s1", Speaker: "Ana", Role: memory.RoleUser, Text: text,
			Time: start.Add(time.Duration(i) * time.Minute),
		})
	}
	return turns
}

// form runs a session through filter and former and returns the bank after it.
func (p policy) form(t *testing.T, bank []memory.Memory) []memory.Memory {
	t.Helper()
	turns := conversation()
	decisions, err := p.filter.Filter(t.Context(), scope, turns, nil)
	if err != nil {
		t.Fatal(err)
	}
	in := formation.Session{Scope: scope, ID: "s1"}
	for i, d := range decisions {
		if d.Salient {
			in.Turns = append(in.Turns, turns[i])
		}
	}
	candidates, err := p.former.Extract(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	b := formation.Bundle{Session: in}
	formation.Number(candidates)
	for _, c := range candidates {
		b.Related = append(b.Related, formation.Related{Candidate: c, Memories: bank})
	}
	verdict, err := p.former.Decide(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	w, err := memory.Plan(scope, verdict.Operations, bank, start)
	if err != nil {
		t.Fatal(err)
	}
	return append(bank, w.Put...)
}

func TestTheFakeModelCarriesAConversationThrough(t *testing.T) {
	s := llmtest.New(t)
	p := newPolicy(t, s.Client(t))
	bank := p.form(t, nil)
	if len(bank) != 2 || bank[0].Content != "Ana said: I moved to Porto with my dog Bruno" ||
		bank[1].Kind != memory.KindPreference {
		t.Fatalf("the bank holds %+v", bank)
	}
	if n := s.Total(); n != 3 {
		t.Errorf("%d calls to form a session, want 3", n)
	}
	if again := p.form(t, bank); len(again) != 2 {
		t.Errorf("the same session again made %d memories, want 2", len(again))
	}

	e := recall.Evidence{Query: asked("What is the name of my dog?"), Memories: bank, Window: conversation()[3:4],
		WordBudget: 80}
	profile, err := p.profiler.Profile(t.Context(), scope, e)
	if err != nil || len(profile.Sections) != 3 || len(profile.Cited) != 2 {
		t.Fatalf("profile is %+v, error %v", profile, err)
	}
	a, err := p.generator.Answer(t.Context(), scope, e, profile)
	if err != nil || a.Abstained || len(a.Cited) != 1 || a.Cited[0] != bank[0].ID || !strings.Contains(a.Text, "Bruno") {
		t.Errorf("answer is %+v, error %v", a, err)
	}
	e.Query = asked("Which violin concert did we visit?")
	if a, err = p.generator.Answer(t.Context(), scope, e, profile); err != nil || !a.Abstained {
		t.Errorf("answer is %+v, error %v, want an abstention", a, err)
	}
}
