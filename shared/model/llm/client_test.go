package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	"github.com/mneme-memory/mneme/shared/platform/config"
)

// A server that accepts a schema and ignores it gets the schema in the repair prompt, and in every later prompt.
func TestTheSchemaIsShownWhereAnswersDoNotHaveItsForm(t *testing.T) {
	s := llmtest.New(t)
	s.Always(llmtest.Reply(func(c llmtest.Call) string {
		if strings.Contains(c.Messages[0].Content, verdictSchema.String()) {
			return good
		}
		return "| word | score |"
	}))
	c := s.Client(t)
	for range 2 {
		if _, err := ask(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.Calls(llm.RoleManager)); n != 3 {
		t.Errorf("%d requests, want one, its repair, and one", n)
	}
	for where, want := range map[string][2]bool{"request": {true, false}, "prompt": {false, true}, "both": {true, true}} {
		cfg := s.Config()
		cfg.SchemaIn = where
		if _, err := ask(t.Context(), client(t, cfg)); (err == nil) != want[1] {
			t.Errorf("%s: %v", where, err)
		}
		calls := s.Calls(llm.RoleManager)
		c := calls[len(calls)-1]
		if got := [2]bool{c.ResponseFormat.Type != "",
			strings.Contains(c.Messages[0].Content, verdictSchema.String())}; got != want {
			t.Errorf("%s: in the request and in the prompt: %v", where, got)
		}
	}
}

// Servers quote requests in their messages. A field name in a quotation is not a complaint about the field.
func TestAFieldIsNotGivenUpForAnErrorThatIsNotAboutIt(t *testing.T) {
	for name, body := range map[string]string{
		"a validator's": `{"detail":[{"loc":["body","messages"],"msg":"too few","input":{"response_format":1,"temperature":0}}]}`,
		"a text":        `bad request: {"response_format":{},"temperature":0}`,
	} {
		s := llmtest.New(t)
		s.Always(llmtest.PlainStatus(422, body))
		c := s.Client(t)
		if _, err := ask(t.Context(), c); !errors.Is(err, llm.ErrRejected) {
			t.Errorf("%s: got %v", name, err)
		}
		s.Always(llmtest.Text(good))
		if _, err := ask(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		calls := s.Calls(llm.RoleManager)
		if last := calls[len(calls)-1]; last.ResponseFormat.Type == "" || last.Temperature == nil {
			t.Errorf("%s: schema %q, temperature %v were given up", name, last.ResponseFormat.Type, last.Temperature)
		}
	}
}

func TestWhatARejectionIsAbout(t *testing.T) {
	for body, want := range map[string]error{
		`{"error":{"code":"content_filter","message":"x"}}`:                                             llm.ErrRefused,
		`{"error":{"code":400,"type":"exceed_context_size_error","message":"x"}}`:                       llm.ErrTruncated,
		`{"error":{"message":"the request exceeds the available context size, try increasing it"}}`:     llm.ErrTruncated,
		`{"object":"error","message":"This model's maximum context length is 8192 tokens.","code":400}`: llm.ErrTruncated,
		`{"error":{"message":"messages are wrong","type":"invalid_request_error"}}`:                     llm.ErrRejected,
	} {
		s := llmtest.New(t)
		s.Always(llmtest.PlainStatus(400, body))
		if _, err := ask(t.Context(), s.Client(t)); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", body, err, want)
		}
	}
}

func TestRequestCarriesSettingsAndSchema(t *testing.T) {
	s := llmtest.New(t)
	s.Script(llm.RoleManager, llmtest.Text(good))
	cfg := s.Config()
	cfg.Roles, cfg.Seed, cfg.MaxOutputTokens = llm.Roles{llm.RoleManager: {Model: "big"}}, 7, 99
	if _, err := ask(t.Context(), client(t, cfg)); err != nil {
		t.Fatal(err)
	}
	c := s.Calls(llm.RoleManager)[0]
	if c.Model != "big" || *c.Temperature != 0 || *c.Seed != 7 || *c.MaxTokens != 99 {
		t.Errorf("request is %s", c.Raw)
	}
	const want = `{"type":"object","properties":{"word":{"type":"string","enum":["yes","no"]},"score":{"type":"number"},` +
		`"tags":{"type":"array","items":{"type":"string"}}},"required":["word","score","tags"],"additionalProperties":false}`
	if f := c.ResponseFormat; f.Type != "json_schema" || !f.JSONSchema.Strict || f.JSONSchema.Name != "verdict" ||
		string(f.JSONSchema.Schema) != want {
		t.Errorf("response_format is %+v with schema %s", f, f.JSONSchema.Schema)
	}
}

func TestFieldsTheServerDoesNotTakeAreDroppedOnce(t *testing.T) {
	s := llmtest.New(t, llmtest.WithRefusedFields("response_format", "temperature", "seed", "max_tokens"))
	s.Always(llmtest.Text(good))
	c := s.Client(t)
	if _, err := ask(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if n := s.Total(); n != 5 {
		t.Errorf("%d calls, want 4 refused and 1 accepted", n)
	}
	if _, err := ask(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	calls := s.Calls(llm.RoleManager)
	if len(calls) != 6 {
		t.Errorf("%d calls, want one more: the client remembers", len(calls))
	}
	last := calls[len(calls)-1]
	if last.MaxCompletionTokens == nil || last.Temperature != nil || last.Seed != nil {
		t.Errorf("request is %s", last.Raw)
	}
	if !strings.Contains(last.System(), `"additionalProperties":false`) {
		t.Error("the schema is not in the prompt")
	}
}

// A key in the environment belongs to OpenAI. The client does not send it to the server configured here.
func TestEnvironmentOfTheSDKIsNotUsed(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-from-the-environment")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
	s := llmtest.New(t)
	s.Always(llmtest.Text(good))
	if _, err := ask(t.Context(), s.Client(t)); err != nil {
		t.Fatal(err)
	}
	if got := s.Calls(llm.RoleManager)[0].Authorization; got != "" {
		t.Errorf("Authorization is %q, want none", got)
	}
}

func TestUnreachableEndpoint(t *testing.T) {
	s := llmtest.New(t)
	cfg := s.Config()
	s.Stop()
	if _, err := ask(t.Context(), client(t, cfg)); !errors.Is(err, llm.ErrUnavailable) {
		t.Errorf("error is %v, want ErrUnavailable", err)
	}
}

func TestOneTenantDoesNotStarveAnother(t *testing.T) {
	s := llmtest.New(t)
	release := make(chan struct{})
	s.Always(llmtest.Hold(release, llmtest.Text(good)))
	cfg := s.Config()
	cfg.TenantConcurrency, cfg.Concurrency = 2, 3
	c := client(t, cfg)
	burst := make(chan error)
	for range 20 {
		go func() {
			_, err := ask(context.Background(), c)
			burst <- err
		}()
	}
	s.Script(llm.RoleGenerator, llmtest.Text("hello"))
	other := llm.Request{Role: llm.RoleGenerator, Scope: memory.Scope{Tenant: "small"}, System: "x", User: "y"}
	if _, err := llm.Ask(t.Context(), c, other, func(a string) (string, error) { return a, nil }); err != nil {
		t.Fatal(err)
	}
	if n := s.Count(llm.RoleManager); n > 2 {
		t.Errorf("%d calls of one tenant at once, want at most 2", n)
	}
	close(release)
	for range 20 {
		if err := <-burst; err != nil {
			t.Error(err)
		}
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	if err := llm.DefaultConfig().Validate(); err != nil {
		t.Errorf("the defaults are invalid: %v", err)
	}
	if _, err := llm.NewClient(llm.DefaultConfig(), llm.Deps{}); err == nil {
		t.Error("a client without a model was made")
	}
	for name, inject := range map[string]func(*llm.Config){
		"BASE_URL":           func(c *llm.Config) { c.BaseURL = "localhost:8000" },
		"TIMEOUT":            func(c *llm.Config) { c.Timeout = 0 },
		"CONCURRENCY":        func(c *llm.Config) { c.Concurrency = -1 },
		"TENANT_CONCURRENCY": func(c *llm.Config) { c.TenantConcurrency = 0 },
		"TENANT_WEIGHTS":     func(c *llm.Config) { c.TenantWeights = map[string]int{"acme": 0} },
		"MAX_OUTPUT_TOKENS":  func(c *llm.Config) { c.MaxOutputTokens = 0 },
		"TEMPERATURE":        func(c *llm.Config) { c.Temperature = 3 },
		"RETRY_BASE":         func(c *llm.Config) { c.Retry.Base = 0 },
		"RETRY_MAX":          func(c *llm.Config) { c.Retry.Max = -1 },
	} {
		cfg := llm.DefaultConfig()
		inject(&cfg)
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func TestConfigurationLoadsFromTheEnvironment(t *testing.T) {
	type service struct {
		LLM llm.Config `envPrefix:"MNEME_LLM_"`
	}
	cfg, err := config.Load[service](map[string]string{
		"MNEME_LLM_API_KEY": "sk-x", "MNEME_LLM_MODEL": "m", "MNEME_LLM_ROLES": "filter: {model: small}",
		"MNEME_LLM_TENANT_WEIGHTS": "acme:3,other:1",
	})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.LLM.ModelFor(llm.RoleFilter) != "small" || cfg.LLM.ModelFor(llm.RoleManager) != "m" ||
		cfg.LLM.TenantWeights["acme"] != 3 {
		t.Errorf("loaded %+v", cfg.LLM)
	}
	dump, err := json.Marshal(cfg)
	if err != nil || strings.Contains(string(dump), "sk-x") {
		t.Errorf("dump is %s, error %v", dump, err)
	}
	if !slices.ContainsFunc(config.Describe[service](), func(r config.Row) bool {
		return r.Name == "MNEME_LLM_API_KEY" && r.Secret
	}) {
		t.Error("the key is not described as a secret")
	}
}

func TestFurtherFieldsOfRequests(t *testing.T) {
	s := llmtest.New(t)
	environ := map[string]string{
		"MODEL": "scripted", "BASE_URL": s.Config().BaseURL,
		"EXTRA_BODY": `{"chat_template_kwargs":{"enable_thinking":false},"a.b|c":1}`,
		"ROLES":      `{manager: {extra_body: {top_k: 20, max_tokens: 7}}, filter: {extra_body: {}}}`,
	}
	cfg, err := config.Load[llm.Config](environ)
	if err != nil {
		t.Fatal(err)
	}
	c, err := llm.NewClient(cfg, llm.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for role, want := range map[llm.Role]string{
		llm.RoleGenerator: `"a.b|c":1`, llm.RoleExtractor: `{"enable_thinking":false}`,
		llm.RoleTopics:  `{"enable_thinking":false}`,
		llm.RoleManager: `"top_k":20`, llm.RoleFactManager: `"max_tokens":7`,
	} {
		if _, err := llm.Ask(t.Context(), c, llm.Request{Role: role, System: "s", User: "u"}, plain); err != nil {
			t.Fatal(err)
		}
		if raw := string(s.Calls(role)[0].Raw); !strings.Contains(raw, want) || strings.Count(raw, "max_tokens") != 1 {
			t.Errorf("%s is sent %s", role, raw)
		}
	}
	if _, err := llm.Ask(t.Context(), c, llm.Request{Role: llm.RoleFilter, System: "s", User: "u"}, plain); err != nil {
		t.Fatal(err)
	}
	if raw := string(s.Calls(llm.RoleFilter)[0].Raw); strings.Contains(raw, "chat_template_kwargs") {
		t.Errorf("a role of its own fields is sent %s", raw)
	}
	for _, bad := range []string{"no JSON", "[1]", "null", `{"model":"x"}`, `{"messages":[]}`} {
		environ["EXTRA_BODY"] = bad
		if _, err := config.Load[llm.Config](environ); err == nil || !strings.Contains(err.Error(), "EXTRA_BODY") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// plain takes an answer as it is.
func plain(answer string) (string, error) { return answer, nil }
