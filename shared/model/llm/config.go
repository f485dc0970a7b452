package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/mneme-memory/mneme/shared/platform/config"
)

// Role is who asks the model. It selects the model and labels metrics and spans.
type Role string

// The roles.
const (
	RoleFilter    Role = "filter"
	RoleExtractor Role = "extractor"
	RoleManager   Role = "manager"
	RoleUtilizer  Role = "utilizer"
	RoleGenerator Role = "generator"
	RoleEmbedding Role = "embedding"

	// The roles of the strategies that have more than one extractor and one manager of their own. They are served by the model of
	// the one or the other.
	RoleCore         Role = "core"
	RoleEpisodic     Role = "episodic"
	RoleSemantic     Role = "semantic"
	RoleProcedural   Role = "procedural"
	RoleFacts        Role = "facts"
	RoleTopics       Role = "topics"
	RoleAgent        Role = "agent"
	RoleFactManager  Role = "fact-manager"
	RoleTopicManager Role = "topic-manager"
)

// Config says where the model server is and how it is used. Names are relative to the prefix that the
// service gives them, such as MNEME_LLM_.
type Config struct {
	// BaseURL is the endpoint up to and without /chat/completions.
	BaseURL string `env:"BASE_URL" envDefault:"http://127.0.0.1:8000/v1" desc:"base URL of the OpenAI-compatible endpoint, with its version path"`
	// Key is the API key; empty for a server that wants none.
	Key config.Secret `env:"API_KEY" desc:"API key of the endpoint; empty where it wants none"`
	// Model serves every role that has no model of its own.
	Model string `env:"MODEL" desc:"model of the roles that have none of their own"`
	// EmbeddingModel is the model that embeds.
	EmbeddingModel string `env:"MODEL_EMBEDDING" desc:"model that embeds, where MNEME_EMBEDDING is endpoint"`
	// Roles has the settings of roles that differ.
	Roles Roles `env:"ROLES" desc:"settings of roles that differ, as YAML: {filter: {model: small, temperature: 0.3, timeout: 20s, concurrency: 4, window: 8192, max_output_tokens: 2048, extra_body: {top_k: 20}}}; roles are filter, extractor, manager, utilizer, generator, embedding"`
	// Timeout bounds one attempt.
	Timeout time.Duration `env:"TIMEOUT" envDefault:"2m" desc:"longest time one request may take"`
	// Retry says how failed requests are repeated.
	Retry Retry `envPrefix:"RETRY_"`
	// TenantConcurrency is how many requests of one tenant run at once.
	TenantConcurrency int `env:"TENANT_CONCURRENCY" envDefault:"4" desc:"requests of one tenant running at once"`
	// Concurrency is how many requests of all tenants run at once.
	Concurrency int `env:"CONCURRENCY" envDefault:"32" desc:"requests of all tenants running at once, shared by weight"`
	// TenantWeights are the tenants' shares of Concurrency while they compete; 1 where not named.
	TenantWeights map[string]int `env:"TENANT_WEIGHTS" desc:"shares of tenants that compete for places, as tenant:weight; 1 where not named"`
	// TokensPerMinute is what one tenant's calls may use a minute, prompts and answers, as the server counts; 0 for no limit. What goes
	// beyond waits, and a call that is under way when the limit is passed is paid for before the next.
	TokensPerMinute int64 `env:"TENANT_TOKENS_PER_MINUTE" envDefault:"0" desc:"tokens of one tenant a minute, of this process; what goes beyond waits; 0 for no limit"`
	// Window bounds prompt and answer together, in tokens.
	Window int64 `env:"WINDOW" envDefault:"32768" desc:"the model's window: prompt and answer together, in tokens; what would not fit is asked in parts"`
	// MaxOutputTokens bounds an answer, in tokens.
	MaxOutputTokens int64 `env:"MAX_OUTPUT_TOKENS" envDefault:"4096" desc:"longest answer, in tokens"`
	// Temperature is the sampling temperature.
	Temperature float64 `env:"TEMPERATURE" envDefault:"0" desc:"sampling temperature, 0 to 2"`
	// Breaker says when an endpoint that fails is left alone.
	Breaker Breaker `envPrefix:"BREAKER_"`
	// SchemaIn is where the form of an answer is shown: in the field of the request for it, in the prompt, in both, or, as is found out, in
	// the request until the server does not take it or answers have another form.
	SchemaIn string `env:"SCHEMA" envDefault:"auto" oneof:"auto|request|prompt|both" desc:"where the form of answers is shown: in response_format (request), in the prompt, in both, or as the server turns out to need it (auto)"`
	// Seed makes servers that heed it repeatable.
	Seed int64 `envDefault:"1"`
	// Body is what every request has beside what OpenAI's API knows, such as a switch for thinking.
	Body Body `env:"EXTRA_BODY" desc:"JSON object of further fields of requests, such as {\"chat_template_kwargs\":{\"enable_thinking\":false}}"`
}

// Breaker leaves an endpoint alone for a while that failed many times in a row: calls fail at once then, with ErrUnavailable, instead of
// waiting for their timeouts, and one after the while finds out whether it is back.
type Breaker struct {
	// Failures are how many attempts have to fail in a row; 0 for a client that always asks. An answer, whatever its worth, and a 4xx
	// show that the endpoint is there; a 429 shows nothing. A caller's own deadline counts once a tenth of the role's timeout has been
	// waited without anything of an answer, by one caller or by several in a row.
	// Failures: attempts that fail in a row before the endpoint is left alone; 0 for never.
	Failures uint32 `envDefault:"10"`
	// Pause is how long it is left alone.
	// Pause: how long an endpoint that fails is left alone.
	Pause time.Duration `envDefault:"10s"`
}

// Body are further fields of a request: a JSON object's. What Mneme sets itself cannot be among them.
type Body map[string]json.RawMessage

// ours are the fields of requests that are Mneme's.
var ours = []string{"messages", "model", "n", "stream", "response_format", "input"}

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Body) UnmarshalText(text []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return errors.New(`is no JSON object, want one such as {"top_k":20}`)
	}
	for _, name := range ours {
		if _, there := fields[name]; there {
			return fmt.Errorf("has the field %q, which Mneme sets itself", name)
		}
	}
	*b = fields
	return nil
}

// Retry is exponential back-off with full jitter.
type Retry struct {
	// Max is how many times a request is repeated; 0 means never.
	Max int `env:"MAX" envDefault:"4" desc:"how many times a failed request is repeated"`
	// Base is the upper bound of the first wait; it doubles each time.
	Base time.Duration `env:"BASE" envDefault:"500ms" desc:"upper bound of the first wait between attempts; doubles each time"`
	// Cap is the upper bound of every wait of ours.
	Cap time.Duration `env:"CAP" envDefault:"20s" desc:"upper bound of a wait between attempts"`
	// MaxServerWait is the longest Retry-After that is waited for here; beyond it the call fails at
	// once, with a fault.LaterError, and so do others of the model until the time is over.
	// MaxServerWait: longest Retry-After that is waited for; beyond it the call fails, and those to the model until then.
	MaxServerWait time.Duration `envDefault:"60s"`
}

// DefaultConfig returns the settings that apply where nothing is set.
func DefaultConfig() Config {
	cfg, err := config.Load[Config](nil)
	if err != nil {
		panic("llm: the defaults do not load: " + err.Error())
	}
	return cfg
}

// Validate reports every setting that is out of range. A missing model is no fault here: it is
// one only where a client is made.
func (c Config) Validate() error {
	u, err := url.Parse(c.BaseURL)
	r := c.Retry
	errs := []error{
		config.Require(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "", "BASE_URL", c.BaseURL, "an http or https URL"),
		config.Require(c.Timeout > 0, "TIMEOUT", c.Timeout, "more than 0"),
		config.Require(c.TenantConcurrency > 0, "TENANT_CONCURRENCY", c.TenantConcurrency, "more than 0"),
		config.Require(c.Concurrency > 0, "CONCURRENCY", c.Concurrency, "more than 0"),
		config.Require(c.TokensPerMinute >= 0, "TENANT_TOKENS_PER_MINUTE", c.TokensPerMinute, "0 or more"),
		config.Require(c.MaxOutputTokens > 0, "MAX_OUTPUT_TOKENS", c.MaxOutputTokens, "more than 0"),
		config.Require(c.Window > c.MaxOutputTokens, "WINDOW", c.Window, "more than MAX_OUTPUT_TOKENS"),
		config.Require(r.Max >= 0, "RETRY_MAX", r.Max, "0 or more"),
		config.Require(r.Base > 0, "RETRY_BASE", r.Base, "more than 0"),
		config.Require(r.Cap >= r.Base, "RETRY_CAP", r.Cap, "not below RETRY_BASE"),
		config.Require(c.Temperature >= 0 && c.Temperature <= 2, "TEMPERATURE", c.Temperature, "0 to 2"),
	}
	for tenant, w := range c.TenantWeights {
		errs = append(errs, config.Require(w >= 1 && w <= 1000, "TENANT_WEIGHTS", fmt.Sprintf("%s:%d", tenant, w), "weights from 1 to 1000"))
	}
	errs = append(errs, c.checkRoles()...)
	return errors.Join(errs...)
}

// base is the role whose settings a role has: those of one strategy alone have an extractor's or a manager's.
func base(r Role) Role {
	switch r {
	case RoleCore, RoleEpisodic, RoleSemantic, RoleProcedural, RoleFacts, RoleTopics:
		return RoleExtractor
	case RoleAgent, RoleFactManager, RoleTopicManager:
		return RoleManager
	}
	return r
}
