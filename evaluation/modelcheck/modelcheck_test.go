package modelcheck_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/evaluation/modelcheck"
	formationllm "github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	recallllm "github.com/mneme-memory/mneme/shared/recall/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options(roles ...llm.Role) modelcheck.Options {
	return modelcheck.Options{Roles: roles, Formation: formationllm.DefaultOptions(), Recall: recallllm.DefaultOptions(),
		Parallel: 3}
}

func check(t *testing.T, s *llmtest.Server, roles ...llm.Role) modelcheck.Report {
	t.Helper()
	r, err := modelcheck.Run(t.Context(), s.Config(), options(roles...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func advises(r modelcheck.RoleReport, words string) bool {
	return slices.ContainsFunc(r.Advice, func(a string) bool { return strings.Contains(a, words) })
}

// The scripted model does not understand text. It is right where a few words decide.
func TestEveryRoleIsAskedEachOfItsCases(t *testing.T) {
	s := llmtest.New(t)
	o := options()
	var done atomic.Int32
	o.Done = func() { done.Add(1) }
	r, err := modelcheck.Run(t.Context(), s.Config(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Roles) != 5 || int(done.Load()) != modelcheck.Cases(modelcheck.Roles()) ||
		modelcheck.Cases(modelcheck.Roles()) < 50 {
		t.Errorf("%d roles, %d of %d cases", len(r.Roles), done.Load(), modelcheck.Cases(modelcheck.Roles()))
	}
	for i, role := range r.Roles {
		if role.Role != string(modelcheck.Roles()[i]) || role.Model != "scripted" || role.Cases < 10 ||
			role.ValidFirst != role.Cases ||
			role.InputTokens == 0 || role.OutputTokens == 0 || role.P95 < role.P50 || role.Right == 0 {
			t.Errorf("got %+v", role)
		}
		if role.Right+len(role.Wrong) != role.Cases || role.Right == role.Cases {
			t.Errorf("%s: %d right, wrong %q", role.Role, role.Right, role.Wrong)
		}
		if role.Share() < 0.8 && !advises(role, "larger model") {
			t.Errorf("%s is right in %.2f, and advised %q", role.Role, role.Share(), role.Advice)
		}
	}
	if r.Least() >= 0.8 {
		t.Errorf("a model that understands nothing is good enough: %.2f", r.Least())
	}
}

// uncounted is the answer of a server that counts no tokens.
const uncounted = `{"choices":[{"finish_reason":"stop",` +
	`"message":{"role":"assistant","content":"{\"turns\":[{\"id\":\"t1\",\"score\":1}]}"}}]}`

// filteredBefore refuses a prompt as an endpoint with a content filter does.
func filteredBefore(w http.ResponseWriter, _ *http.Request, _ llmtest.Call) {
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, `{"error":{"message":"the prompt was filtered","param":"prompt","code":"content_filter","status":400}}`)
}

func TestWeaknessesAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		options  []llmtest.Option
		step     llmtest.Step
		failures string
		advice   string
	}{
		"away": {step: llmtest.Status(http.StatusServiceUnavailable), failures: "unreachable",
			advice: "MNEME_LLM_BASE_URL"},
		"overloaded":   {step: llmtest.RateLimited("3600"), failures: "rate limited", advice: "MNEME_LLM_ROLES"},
		"a login page": {step: llmtest.Body("<html>Log in</html>"), failures: "no completions", advice: "MNEME_LLM_BASE_URL"},
		"no key": {step: llmtest.Status(http.StatusUnauthorized), failures: "unauthorized",
			advice: "MNEME_LLM_API_KEY"},
		"no such model": {step: llmtest.Status(http.StatusNotFound), failures: "unknown model or path",
			advice: "the model of filter in MNEME_LLM_ROLES"},
		"small window": {step: llmtest.Status(http.StatusBadRequest), failures: "rejected", advice: "context window"},
		"cut off":      {step: llmtest.Truncated(), failures: "cut off", advice: "MNEME_LLM_MAX_OUTPUT_TOKENS"},
		"refuses":      {step: llmtest.Refusal(), failures: "refused", advice: "model itself refuses"},
		"refuses in words": {step: llmtest.Text("I’m sorry, but I can’t assist with that."), failures: "refused",
			advice: "model itself refuses"},
		"filtered":        {step: llmtest.Filtered(), failures: "filtered", advice: "content filter"},
		"filtered before": {step: filteredBefore, failures: "filtered", advice: "content filter"},
		"says nothing":    {step: llmtest.EmptyText(), failures: "empty", advice: "think"},
		"only prose":      {step: llmtest.Text("I would keep them all."), failures: "malformed", advice: "larger model"},
		"no schema": {options: []llmtest.Option{llmtest.WithRefusedFields("response_format")},
			advice: "guided decoding"},
		"counts nothing": {step: llmtest.Body(uncounted), advice: "counts no tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t, c.options...)
			if c.step != nil {
				s.Always(c.step)
			}
			r := check(t, s, llm.RoleFilter).Roles[0]
			failed := r.Failures[c.failures]
			if c.failures != "" && (failed < 3 || failed+r.Failures["not asked"] != r.Cases || r.Right != 0 ||
				len(r.Wrong) != r.Cases) {
				t.Errorf("failures %v, right %d", r.Failures, r.Right)
			}
			if c.failures == "" && len(r.Failures) != 0 {
				t.Errorf("failures %v", r.Failures)
			}
			if !advises(r, c.advice) {
				t.Errorf("advised %q", r.Advice)
			}
		})
	}
}

// A role whose endpoint returns nonsense has no effect on the next role.
func TestARoleIsNotBlamedForTheOneBefore(t *testing.T) {
	s := llmtest.New(t)
	s.Always(func(w http.ResponseWriter, r *http.Request, c llmtest.Call) {
		if c.Role == llm.RoleFilter {
			llmtest.Body("<html>Log in</html>")(w, r, c)
			return
		}
		llmtest.FakeModel()(w, r, c)
	})
	cfg := s.Config()
	cfg.Breaker.Failures = 2
	r, err := modelcheck.Run(t.Context(), cfg, options(llm.RoleFilter, llm.RoleManager))
	if err != nil {
		t.Fatal(err)
	}
	if f, m := r.Roles[0], r.Roles[1]; f.Failures["no completions"] == 0 || m.ValidFirst != m.Cases ||
		len(m.Failures) != 0 {
		t.Errorf("filter %v, manager %+v", f.Failures, m)
	}
}

// A temporary failure does not stop a role. Only a few failures in a row do.
func TestWhatEndsByItselfStopsNothing(t *testing.T) {
	s := llmtest.New(t)
	s.Script(llm.RoleFilter, llmtest.Status(http.StatusUnauthorized), llmtest.Status(http.StatusUnauthorized))
	if r := check(t, s, llm.RoleFilter).Roles[0]; r.Stopped != "" || r.ValidFirst != r.Cases-2 ||
		r.Failures["unauthorized"] != 2 {
		t.Errorf("got %+v", r)
	}
	s.Script(llm.RoleExtractor, llmtest.FakeModel(), llmtest.FakeModel(), llmtest.FakeModel())
	s.Always(llmtest.Status(http.StatusUnauthorized))
	r := check(t, s, llm.RoleExtractor).Roles[0]
	if r.Stopped != "unauthorized" || r.ValidFirst != 3 || r.Failures["not asked"] == 0 {
		t.Errorf("got %+v", r)
	}
}

// heeding answers probes as an endpoint that enforces the given forms, with a model that answers the question on
// tomatoes. The next step handles every other call.
func heeding(next llmtest.Step, forms ...string) llmtest.Step {
	return func(w http.ResponseWriter, r *http.Request, c llmtest.Call) {
		switch {
		case len(c.Data()) > 0:
			next(w, r, c)
		case c.ResponseFormat.Type == "json_schema" && slices.Contains(forms, "json_schema"):
			llmtest.Text(`{"shade_code":"k42"}`)(w, r, c)
		case c.ResponseFormat.Type == "json_object" && slices.Contains(forms, "json_object"):
			llmtest.Text(`{"colour":"red"}`)(w, r, c)
		default:
			llmtest.Text("It is red.")(w, r, c)
		}
	}
}

// probed answers probes with a step. The fake model handles every other call.
func probed(step llmtest.Step) llmtest.Step {
	return func(w http.ResponseWriter, r *http.Request, c llmtest.Call) {
		if len(c.Data()) > 0 {
			llmtest.FakeModel()(w, r, c)
			return
		}
		step(w, r, c)
	}
}

// A server that accepts response_format without enforcing it looks like a server that enforces it.
func TestFormsThatAreSeenToAreDetected(t *testing.T) {
	for name, c := range map[string]struct {
		options      []llmtest.Option
		step         llmtest.Step
		form, advice string
	}{
		"schema":  {step: heeding(llmtest.FakeModel(), "json_schema", "json_object"), form: modelcheck.FormSchema},
		"JSON":    {step: heeding(llmtest.FakeModel(), "json_object"), form: modelcheck.FormJSON, advice: "not to a schema"},
		"ignored": {step: heeding(llmtest.FakeModel()), form: modelcheck.FormNone, advice: "neither"},
		"refused": {options: []llmtest.Option{llmtest.WithRefusedFields("response_format")}, form: modelcheck.FormNone,
			advice: "neither"},
		"says no": {step: probed(llmtest.Refusal()), form: modelcheck.FormUnknown, advice: "could not be told"},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t, c.options...)
			if c.step != nil {
				s.Always(c.step)
			}
			r := check(t, s, llm.RoleFilter, llm.RoleManager, llm.RoleGenerator)
			for _, role := range r.Roles[:2] {
				if role.Form != c.form || c.advice != "" && !advises(role, c.advice) ||
					c.advice == "" && advises(role, "response_format") {
					t.Errorf("%s: %q, advised %q", role.Role, role.Form, role.Advice)
				}
			}
			if g := r.Roles[2]; g.Form != "" {
				t.Errorf("a generator wants %q", g.Form)
			}
		})
	}
}

// windowed simulates a model that reads only the last tokens of long prompts. With counts, it counts only these
// tokens.
func windowed(tokens int, counts bool) llmtest.Step {
	number := regexp.MustCompile(`number of this text is (\d+)`)
	return probed(func(w http.ResponseWriter, _ *http.Request, c llmtest.Call) {
		read := c.User()
		read = read[max(0, len(read)-4*tokens):]
		answer := "I see no number."
		if found := number.FindStringSubmatch(read); found != nil {
			answer = found[1]
		}
		w.Header().Set("Content-Type", "application/json")
		usage := ""
		if counts {
			usage = fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":3},`, len(read)/4)
		}
		fmt.Fprintf(w, `{%s"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"%s"}}]}`, usage,
			answer)
	})
}

// refusingOver refuses prompts of more than the given tokens.
func refusingOver(tokens int, next llmtest.Step) llmtest.Step {
	return func(w http.ResponseWriter, r *http.Request, c llmtest.Call) {
		if len(c.User())/4 > tokens {
			llmtest.Status(http.StatusBadRequest)(w, r, c)
			return
		}
		next(w, r, c)
	}
}

// A server that silently cuts prompts gives perfect answers to short prompts.
func TestTheWindowIsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		step        llmtest.Step
		prompt      int64
		result      string
		least, most int64
		advice      string
		calls       int // for the window probe, of all roles together
	}{
		"large":           {windowed(100000, true), 8192, modelcheck.WindowHeld, 8000, 8300, "", 1},
		"all that is set": {windowed(100000, true), 100000, modelcheck.WindowHeld, 28000, 29000, "", 1},
		"cut": {windowed(1500, true), 8192, modelcheck.WindowCut, 1500, 1500,
			"=1500 and MNEME_LLM_MAX_OUTPUT", 1},
		"cut a little":         {windowed(6000, true), 8192, modelcheck.WindowCut, 4000, 4200, "MNEME_LLM_WINDOW=4", 2},
		"cut, without a count": {windowed(1500, false), 8192, modelcheck.WindowCut, 1024, 1100, "num_ctx", 4},
		"refused": {refusingOver(5000, windowed(9000, true)), 8192, modelcheck.WindowRefused, 4000, 4200,
			"refuses", 2},
		"refused, lost": {refusingOver(5000, windowed(10, false)), 8192, modelcheck.WindowRefused, 4000, 4200,
			"accepts", 2},
		"filtered":      {probed(filteredBefore), 8192, modelcheck.WindowUnknown, 0, 0, "the window is unknown", 1},
		"not found":     {windowed(10, false), 8192, modelcheck.WindowUnknown, 0, 0, "the window is unknown", 5},
		"not looked at": {windowed(1500, true), 0, "", 0, 0, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t)
			s.Always(c.step)
			o := options(llm.RoleFilter, llm.RoleManager)
			o.Prompt = c.prompt
			r, err := modelcheck.Run(t.Context(), s.Config(), o)
			if err != nil {
				t.Fatal(err)
			}
			long := 0
			for _, call := range slices.Concat(s.Calls(llm.RoleFilter), s.Calls(llm.RoleManager)) {
				if strings.Contains(call.User(), "number of this text") {
					long++
				}
			}
			if long != c.calls {
				t.Errorf("%d long prompts, want %d", long, c.calls)
			}
			for _, role := range r.Roles {
				w := role.Window
				if c.prompt == 0 {
					if w != nil {
						t.Errorf("got %+v", w)
					}
					continue
				}
				if w == nil || w.Configured != 32768 || w.Result != c.result || w.Seen < c.least || w.Seen > c.most {
					t.Errorf("got %+v", w)
				}
				if c.advice != "" && !advises(role, c.advice) || c.advice == "" && advises(role, "WINDOW") {
					t.Errorf("advised %q", role.Advice)
				}
			}
		})
	}
}

// beside answers with the model's thoughts in a separate field.
func beside(w http.ResponseWriter, _ *http.Request, c llmtest.Call) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"finish_reason": "stop",
		"message": map[string]any{
			"role": "assistant", "content": llmtest.Answer(c), "reasoning_content": "Let me see.",
		}}}})
}

func TestThoughtsAreSeen(t *testing.T) {
	for name, step := range map[string]llmtest.Step{
		"before the answer": llmtest.Altered(func(a string) string { return "<think>Let me see.</think>\n" + a }),
		"beside the answer": beside,
	} {
		s := llmtest.New(t)
		s.Always(step)
		if r := check(t, s, llm.RoleFilter).Roles[0]; r.Thinking != r.Cases || !advises(r, "MNEME_LLM_EXTRA_BODY") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := check(t, llmtest.New(t), llm.RoleFilter).Roles[0]; r.Thinking != 0 || advises(r, "thinks") {
		t.Errorf("a model that does not think: %+v", r)
	}
}

func TestRepairsAreCountedApart(t *testing.T) {
	s := llmtest.New(t)
	// simulates a small model that needs a repair request
	s.Always(func(w http.ResponseWriter, r *http.Request, c llmtest.Call) {
		if c.IsRepair() {
			llmtest.FakeModel()(w, r, c)
			return
		}
		llmtest.Text("no JSON")(w, r, c)
	})
	f := check(t, s, llm.RoleFilter).Roles[0]
	if len(f.Failures) != 0 || f.ValidRepaired != f.Cases || f.ValidFirst != 0 || !advises(f, "at first") {
		t.Errorf("got %+v", f)
	}
}

func TestWhatCannotBeAsked(t *testing.T) {
	s := llmtest.New(t)
	o := options()
	o.Formation.PromptDir = "/does/not/exist"
	if _, err := modelcheck.Run(t.Context(), s.Config(), o); err == nil {
		t.Error("a prompt directory that does not exist is no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := modelcheck.Run(ctx, s.Config(), options()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
