package e2e_test

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.temporal.io/sdk/client"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	"github.com/mneme-memory/mneme/test/harness"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// model is the scripted model server of the shared system's llm tenants. It fails calls that contain a given word, so
// that tests can run side by side.
type model struct {
	*llmtest.Server
	mu    sync.Mutex
	plans []*plan
}

// plan makes the next calls of a role fail if they contain the word.
type plan struct {
	role llm.Role
	word string
	step llmtest.Step
	left int
}

// forEver is more calls than a test makes.
const forEver = 1 << 30

func startModel() (*model, error) {
	s, err := llmtest.Start()
	if err != nil {
		return nil, err
	}
	m := &model{Server: s}
	m.Always(m.step)
	return m, nil
}

func (m *model) step(w http.ResponseWriter, r *http.Request, c llmtest.Call) {
	if p := m.next(c); p != nil {
		p.step(w, r, c)
		return
	}
	llmtest.FakeModel()(w, r, c)
}

func (m *model) next(c llmtest.Call) *plan {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.plans {
		if p.left > 0 && p.role == c.Role && bytes.Contains(c.Raw, []byte(p.word)) {
			p.left--
			return p
		}
	}
	return nil
}

// inject adds a plan. restore removes it and returns the number of failed calls.
func (m *model) inject(role llm.Role, word string, step llmtest.Step, calls int) (restore func() int) {
	p := &plan{role: role, word: word, step: step, left: calls}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plans = append(m.plans, p)
	return func() int {
		m.mu.Lock()
		defer m.mu.Unlock()
		done := calls - p.left
		p.left = 0
		return done
	}
}

// environ returns the settings of services that use the model. Their timeouts are short, so that a test soon sees the
// next attempt.
func (m *model) environ() map[string]string {
	return map[string]string{
		"MNEME_LLM_BASE_URL": m.URL, "MNEME_LLM_MODEL": "scripted", "MNEME_LLM_TIMEOUT": "1s",
		"MNEME_LLM_RETRY_MAX": "2", "MNEME_LLM_RETRY_BASE": "1ms", "MNEME_LLM_RETRY_CAP": "2ms",
		"MNEME_LLM_TENANT_CONCURRENCY": "16", "MNEME_CONSOLIDATION_MALFORMED_ATTEMPTS": "2", "MNEME_CONSOLIDATION_IDLE": "5s",
	}
}

// modelTalk is two sessions of a speaker whose name occurs in every call about them.
func modelTalk(user, speaker string) []dataset.Session {
	return []dataset.Session{
		harness.Talk(user, "m1", speaker, said, "Hi!", "I live in the old town of Ghent.", "I prefer green tea to coffee."),
		harness.Talk(user, "m2", speaker, said.AddDate(0, 0, 7), "I work as a carpenter in a shipyard.", "Bye!"),
	}
}

func TestTheLLMPolicyRemembersAndAnswers(t *testing.T) {
	const user = "happy"
	talk := modelTalk(user, "Hanna")
	shared.Publish(t, tenantModel, talk...)
	shared.AwaitFormed(t, tenantModel, talk...)
	got := contents(shared.Snapshot(t, tenantModel, user), mnemev1.Status_STATUS_ACTIVE)
	want := []string{
		"Hanna said: I live in the old town of Ghent.",
		"Hanna said: I prefer green tea to coffee.",
		"Hanna said: I work as a carpenter in a shipyard.",
	}
	if !slices.Equal(got, want) {
		t.Fatalf("remembered %q, want %q", got, want)
	}
	c := shared.Client(tenantModel)
	profile := recallOf(t, c, user, "Where is the old town that Hanna lives in?")
	// The profile leaves out memories that are irrelevant to the query.
	if len(profile.GetDegraded()) > 0 || len(profile.GetCited()) == 0 ||
		!strings.Contains(profile.GetProfile(), "old town of Ghent. [") {
		t.Errorf("degraded %q, %d citations, profile %q", profile.GetDegraded(), len(profile.GetCited()),
			profile.GetProfile())
	}
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	res, err := c.Answer(
		ctx,
		request(&mnemev1.AnswerRequest{Recall: &mnemev1.RecallRequest{UserId: user,
			Query: "Does Hanna work in a shipyard?"}}),
	)
	if err != nil {
		t.Fatal(err)
	}
	answer := res.Msg
	if answer.GetAbstained() || len(answer.GetCitedIds()) != 1 || !strings.Contains(answer.GetAnswer(), "shipyard") {
		t.Fatalf("answer %q cites %v", answer.GetAnswer(), answer.GetCitedIds())
	}
	for _, cited := range answer.GetRecall().GetCited() {
		if cited.GetMemory().GetId() == answer.GetCitedIds()[0] &&
			!strings.Contains(cited.GetMemory().GetContent(), "shipyard") {
			t.Errorf("the answer cites %q", cited.GetMemory().GetContent())
		}
	}
}

// misbehaviours are temporary faults of a model server. seen says that the fault must leave a mark in the traces.
var misbehaviours = []struct {
	name  string
	step  func(role llm.Role) llmtest.Step
	calls int
	seen  bool
}{
	{"too slow", func(llm.Role) llmtest.Step { return llmtest.Hold(nil, llmtest.FakeModel()) }, 1, true},
	{"rate limit", func(llm.Role) llmtest.Step { return llmtest.RateLimited("0") }, 4, true},
	{"server error", func(llm.Role) llmtest.Step { return llmtest.Status(http.StatusInternalServerError) }, 4, true},
	{"cut connection", func(llm.Role) llmtest.Step { return llmtest.Drop() }, 4, true},
	{"truncated", func(llm.Role) llmtest.Step { return llmtest.Truncated() }, 1, true},
	{"prose around", func(llm.Role) llmtest.Step { return llmtest.Prose() }, 2, false},
	{"unknown ids", foreign, 2, true},
	{"no choices", func(llm.Role) llmtest.Step { return llmtest.NoChoices() }, 1, true},
	{"refusal", func(llm.Role) llmtest.Step { return llmtest.Refusal() }, 1, true},
}

// foreign answers with ids that were not in the model's input.
func foreign(role llm.Role) llmtest.Step {
	field := map[llm.Role]string{llm.RoleFilter: `"id":"`, llm.RoleExtractor: `"sources":["`,
		llm.RoleManager: `"candidate":"`}[role]
	return llmtest.Altered(func(answer string) string { return strings.ReplaceAll(answer, field, field+"nobody-") })
}

// A model server with temporary faults does not change the memories, and traces show the faults.
func TestAModelThatMisbehavesForAWhileLosesAndInventsNothing(t *testing.T) {
	undisturbed := modelTalk("undisturbed", "Speaker")
	shared.Publish(t, tenantModel, undisturbed...)
	shared.AwaitFormed(t, tenantModel, undisturbed...)
	want := shape(shared.Snapshot(t, tenantModel, "undisturbed"))
	if len(want) != 3 {
		t.Fatalf("%d entries, want 3", len(want))
	}
	var checks []func()
	for _, role := range []llm.Role{llm.RoleFilter, llm.RoleExtractor, llm.RoleManager} {
		for _, m := range misbehaviours {
			speaker := "Speaker-" + string(role) + "-" + strings.ReplaceAll(m.name, " ", "-")
			talk := modelTalk("user of "+speaker, speaker)
			restore := endpoint.inject(role, speaker, m.step(role), m.calls)
			shared.Publish(t, tenantModel, talk...) // all at once, because they wait most of the time
			checks = append(checks, func() {
				t.Run(string(role)+" "+m.name, func(t *testing.T) {
					shared.AwaitFormed(t, tenantModel, talk...)
					if n := restore(); n != m.calls {
						t.Errorf("%d calls went wrong, want %d", n, m.calls)
					}
					got := shape(shared.Snapshot(t, tenantModel, talk[0].User))
					for i := range got {
						got[i].Content = strings.ReplaceAll(got[i].Content, speaker, "Speaker")
					}
					if diff := harness.Diff(want, got); diff != "" {
						t.Error(diff)
					}
					if m.seen {
						awaitMark(t, talk[0].User)
					}
				})
			})
		}
	}
	for _, check := range checks {
		check()
	}
}

// awaitMark waits for a trace of the user's formation with a call that failed or needed a retry.
func awaitMark(t *testing.T, user string) {
	t.Helper()
	var ids []string
	for _, m := range shared.Memories(t, tenantModel, user) {
		ids = append(ids, m.GetTraceId())
	}
	harness.Await(t, "a trace tells of the failure", func(context.Context) (bool, error) {
		for _, id := range ids {
			trace, _ := shared.Traces.Trace(id)
			for _, span := range trace.Spans {
				for _, a := range span.Attributes {
					tried := a.Key == "mneme.llm.attempts" && a.Value != "1"
					repaired := a.Key == "mneme.llm.repair" && a.Value == "true"
					failed := span.Error && strings.HasPrefix(a.Key, "gen_ai.")
					if tried || repaired || failed {
						return true, nil
					}
				}
			}
		}
		return false, nil
	})
}

// Turns that a model can never process become dead letters, and later turns are remembered. Once the model works
// again, a replay processes the dead letters.
func TestWhatTheModelNeverUnderstandsWaitsForAReplay(t *testing.T) {
	for _, role := range []llm.Role{llm.RoleFilter, llm.RoleExtractor, llm.RoleManager} {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			user := "misunderstood by the " + string(role)
			word := "Xanadu" + string(role)
			first := harness.Talk(user, "m1", "Olga", said, "I live in the city of "+word+".", "I grew up near "+word+" too.")
			next := harness.Talk(user, "m2", "Olga", said.AddDate(0, 0, 1), "I work as a carpenter in a shipyard.")
			restore := endpoint.inject(role, word, llmtest.Text("I would rather talk about the weather."), forEver)
			shared.Publish(t, tenantModel, first, next)
			shared.AwaitFormed(t, tenantModel, next)
			if got := contents(shared.Snapshot(t, tenantModel, user), mnemev1.Status_STATUS_ACTIVE); len(got) != 1 ||
				!strings.Contains(got[0], "shipyard") {
				t.Fatalf("remembered %q, want the second session alone", got)
			}
			prefix := tenantModel + "/" + user
			harness.Await(t, "both turns are dead letters", func(context.Context) (bool, error) {
				return turnsOf(t, shared.DeadLetters(t, prefix)) == 2, nil
			})
			for _, l := range shared.DeadLetters(t, prefix) {
				if !strings.Contains(l.GetReason(), "malformed") || strings.Contains(l.GetReason(), word) ||
					strings.Contains(l.GetReason(), "weather") {
					t.Errorf("the reason is %q, want what is wrong with the answer and no text", l.GetReason())
				}
			}
			if restore() == 0 {
				t.Fatal("the model was never asked")
			}
			shared.Replay(t, prefix)
			harness.Await(t, "the first session is remembered", func(context.Context) (bool, error) {
				return len(shared.Snapshot(t, tenantModel, user)) == 3, nil
			})
			shared.AwaitFormed(t, tenantModel, first)
			if left := shared.DeadLetters(t, prefix); len(left) != 0 {
				t.Errorf("%d dead letters are left", len(left))
			}
		})
	}
}

// turnsOf counts the dead letters that contain a turn.
func turnsOf(t *testing.T, deadLetters []*mnemev1.DeadLetter) int {
	t.Helper()
	n := 0
	for _, l := range deadLetters {
		if holdsTurn(t, l) {
			n++
		}
	}
	return n
}

// While the model is unavailable, a user's workflow reports the reason of its wait. It gives up no turn.
func TestAModelThatIsAwayIsWaitedFor(t *testing.T) {
	const user, speaker = "waiting", "Wanda"
	talk := modelTalk(user, speaker)
	restore := endpoint.inject(llm.RoleExtractor, speaker, llmtest.Status(http.StatusServiceUnavailable), forEver)
	shared.Publish(t, tenantModel, talk...)
	temporal, err := client.Dial(consolidation.ClientOptions(client.Options{HostPort: shared.Servers.Temporal.Addr()}))
	if err != nil {
		t.Fatal(err)
	}
	defer temporal.Close()
	id := consolidation.WorkflowID(memory.Scope{Tenant: tenantModel, User: user})
	harness.Await(t, "the workflow holds the sessions and the activity its failure",
		func(ctx context.Context) (bool, error) {
			d, err := temporal.DescribeWorkflowExecution(ctx, id, "")
			if err != nil {
				return false, nil //nolint:nilerr // not started yet
			}
			for _, a := range d.GetPendingActivities() {
				if a.GetActivityType().GetName() == "Extract" && a.GetAttempt() > 1 &&
					strings.Contains(a.GetLastFailure().GetMessage(), "unavailable") {
					return true, nil
				}
			}
			return false, nil
		})
	value, err := temporal.QueryWorkflow(t.Context(), id, "", consolidation.QueryState)
	if err != nil {
		t.Fatal(err)
	}
	var state consolidation.State
	if err := value.Get(&state); err != nil || len(state.Closed) == 0 || len(state.Closed[0].Turns) != 2 {
		t.Fatalf("state %+v, error %v; want the first session with its two salient turns", state, err)
	}
	if n := len(shared.DeadLetters(t, tenantModel+"/"+user)); n != 0 {
		t.Fatalf("%d dead letters", n)
	}
	restore()
	shared.AwaitFormed(t, tenantModel, talk...)
	if got := len(shared.Snapshot(t, tenantModel, user)); got != 3 {
		t.Fatalf("%d entries, want 3", got)
	}
}
