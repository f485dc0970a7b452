package llm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
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
	// Models are the models by role.
	Models Models `envPrefix:"MODEL_"`
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
	// ByRole are the roles' own settings.
	ByRole ByRole
	// Breaker says when an endpoint that fails is left alone.
	Breaker Breaker `envPrefix:"BREAKER_"`
	// SchemaIn is where the form of an answer is shown: in the field of the request for it, in the prompt, in both, or, as is found out, in
	// the request until the server does not take it or answers have another form.
	SchemaIn string `env:"SCHEMA" envDefault:"auto" oneof:"auto|request|prompt|both" desc:"where the form of answers is shown: in response_format (request), in the prompt, in both, or as the server turns out to need it (auto)"`
	// Seed makes servers that heed it repeatable.
	Seed int64 `env:"SEED" envDefault:"1" desc:"sampling seed, for servers that heed it"`
	// Body is what every request has beside what OpenAI's API knows, such as a switch for thinking.
	Body Body `env:"EXTRA_BODY" desc:"JSON object of further fields of requests, such as {\"chat_template_kwargs\":{\"enable_thinking\":false}}"`
	// Bodies are what the requests of a role have instead, where that is set.
	Bodies Bodies `envPrefix:"EXTRA_BODY_"`
}

// ByRole are settings that a role has instead of everybody's, by the role's name: filter, extractor, manager, utilizer, generator or
// embedding.
type ByRole struct {
	Timeout         map[string]time.Duration `env:"TIMEOUT_BY_ROLE" desc:"roles with a timeout of their own, such as generator:20s"`
	Concurrency     map[string]int           `env:"CONCURRENCY_BY_ROLE" desc:"most requests of a role running at once, such as filter:4"`
	Window          map[string]int64         `env:"WINDOW_BY_ROLE" desc:"roles whose model has another window, such as filter:8192"`
	MaxOutputTokens map[string]int64         `env:"MAX_OUTPUT_TOKENS_BY_ROLE" desc:"roles with a limit of answers of their own, such as filter:2048"`
	Temperature     map[string]float64       `env:"TEMPERATURE_BY_ROLE" desc:"roles with a temperature of their own, such as generator:0.3"`
}

// own is what a role has by itself, or else everybody's.
func own[V any](r Role, byRole map[string]V, everybody V) V {
	if v, ok := byRole[string(base(r))]; ok {
		return v
	}
	return everybody
}

// TimeoutFor bounds one attempt of a role.
func (c Config) TimeoutFor(r Role) time.Duration { return own(r, c.ByRole.Timeout, c.Timeout) }

// WindowFor is the window of a role's model, in tokens.
func (c Config) WindowFor(r Role) int64 { return own(r, c.ByRole.Window, c.Window) }

// MaxOutputTokensFor bounds an answer of a role, in tokens.
func (c Config) MaxOutputTokensFor(r Role) int64 {
	return own(r, c.ByRole.MaxOutputTokens, c.MaxOutputTokens)
}

// TemperatureFor is a role's sampling temperature.
func (c Config) TemperatureFor(r Role) float64 {
	return own(r, c.ByRole.Temperature, c.Temperature)
}

// Breaker leaves an endpoint alone for a while that failed many times in a row: calls fail at once then, with ErrUnavailable, instead of
// waiting for their timeouts, and one after the while finds out whether it is back.
type Breaker struct {
	// Failures are how many attempts have to fail in a row; 0 for a client that always asks. An answer, whatever its worth, and a 4xx
	// show that the endpoint is there; a 429 shows nothing. A caller's own deadline counts once a tenth of the role's timeout has been
	// waited without anything of an answer, by one caller or by several in a row.
	Failures uint32 `env:"FAILURES" envDefault:"10" desc:"attempts that fail in a row before the endpoint is left alone; 0 for never"`
	// Pause is how long it is left alone.
	Pause time.Duration `env:"PAUSE" envDefault:"10s" desc:"how long an endpoint that fails is left alone"`
}

// Bodies are further fields of requests by role; an empty one stands for Config.Body.
type Bodies struct {
	Filter    Body `env:"FILTER" desc:"further fields of the saliency filter's requests"`
	Extractor Body `env:"EXTRACTOR" desc:"further fields of the requests that extract memories"`
	Manager   Body `env:"MANAGER" desc:"further fields of the requests that decide operations"`
	Utilizer  Body `env:"UTILIZER" desc:"further fields of the requests that write profiles"`
	Generator Body `env:"GENERATOR" desc:"further fields of the requests that answer"`
	Embedding Body `env:"EMBEDDING" desc:"further fields of the requests that embed"`
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

// Models names a model per role; an empty one stands for Config.Model.
type Models struct {
	Filter    string `env:"FILTER" desc:"model of the saliency filter"`
	Extractor string `env:"EXTRACTOR" desc:"model that extracts memories"`
	Manager   string `env:"MANAGER" desc:"model that decides operations"`
	Utilizer  string `env:"UTILIZER" desc:"model that writes profiles"`
	Generator string `env:"GENERATOR" desc:"model that answers"`
	Embedding string `env:"EMBEDDING" desc:"model that embeds"`
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
	MaxServerWait time.Duration `env:"MAX_SERVER_WAIT" envDefault:"60s" desc:"longest Retry-After that is waited for; beyond it the call fails, and those to the model until then"`
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
		config.Require(c.Breaker.Failures == 0 || c.Breaker.Pause > 0, "BREAKER_PAUSE", c.Breaker.Pause, "more than 0"),
		config.Require(r.Max >= 0, "RETRY_MAX", r.Max, "0 or more"),
		config.Require(r.Base > 0, "RETRY_BASE", r.Base, "more than 0"),
		config.Require(r.Cap >= r.Base, "RETRY_CAP", r.Cap, "not below RETRY_BASE"),
		config.Require(r.MaxServerWait >= 0, "RETRY_MAX_SERVER_WAIT", r.MaxServerWait, "0 or more"),
		config.Require(c.Temperature >= 0 && c.Temperature <= 2, "TEMPERATURE", c.Temperature, "0 to 2"),
	}
	for tenant, w := range c.TenantWeights {
		errs = append(errs, config.Require(w >= 1 && w <= 1000, "TENANT_WEIGHTS", fmt.Sprintf("%s:%d", tenant, w), "weights from 1 to 1000"))
	}
	errs = append(errs,
		eachRole("TIMEOUT_BY_ROLE", c.ByRole.Timeout, "more than 0", func(_ Role, d time.Duration) bool { return d > 0 }),
		eachRole("CONCURRENCY_BY_ROLE", c.ByRole.Concurrency, "more than 0", func(_ Role, n int) bool { return n > 0 }),
		eachRole("MAX_OUTPUT_TOKENS_BY_ROLE", c.ByRole.MaxOutputTokens, "more than 0, and less than the role's window",
			func(r Role, n int64) bool { return n > 0 && n < c.WindowFor(r) }),
		eachRole("WINDOW_BY_ROLE", c.ByRole.Window, "more than the role's longest answer",
			func(r Role, n int64) bool { return n > c.MaxOutputTokensFor(r) }),
		eachRole("TEMPERATURE_BY_ROLE", c.ByRole.Temperature, "0 to 2", func(_ Role, t float64) bool { return t >= 0 && t <= 2 }),
	)
	return errors.Join(errs...)
}

// roles are those that have settings of their own.
var roles = []Role{RoleFilter, RoleExtractor, RoleManager, RoleUtilizer, RoleGenerator, RoleEmbedding}

// eachRole holds the values by role against what is wanted of them.
func eachRole[V any](name string, values map[string]V, want string, fine func(Role, V) bool) error {
	var errs []error
	for role, v := range values {
		if !slices.Contains(roles, Role(role)) {
			errs = append(errs, config.Require(false, name, role, fmt.Sprintf("roles among %q", roles)))
			continue
		}
		errs = append(errs, config.Require(fine(Role(role), v), name, fmt.Sprintf("%s:%v", role, v), want))
	}
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

// ModelFor is the model of a role; empty when none is set.
func (c Config) ModelFor(r Role) string {
	m := c.Models
	own := map[Role]string{
		RoleFilter: m.Filter, RoleExtractor: m.Extractor, RoleManager: m.Manager, RoleUtilizer: m.Utilizer, RoleGenerator: m.Generator,
		RoleEmbedding: m.Embedding,
	}
	return cmp.Or(own[base(r)], c.Model)
}

// BodyFor are the further fields of a role's requests.
func (c Config) BodyFor(r Role) Body {
	b := c.Bodies
	own := map[Role]Body{
		RoleFilter: b.Filter, RoleExtractor: b.Extractor, RoleManager: b.Manager, RoleUtilizer: b.Utilizer, RoleGenerator: b.Generator,
		RoleEmbedding: b.Embedding,
	}
	if body := own[base(r)]; body != nil {
		return body
	}
	return c.Body
}
