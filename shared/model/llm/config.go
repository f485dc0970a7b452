package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mneme-memory/mneme/shared/platform/config"
)

// Role is the task of a request to the model. It selects the model and labels metrics and spans.
type Role string

// The roles.
const (
	RoleFilter    Role = "filter"
	RoleExtractor Role = "extractor"
	RoleManager   Role = "manager"
	RoleUtilizer  Role = "utilizer"
	RoleGenerator Role = "generator"
	RoleEmbedding Role = "embedding"

	// The roles of the strategies with more than one extractor and one manager. The model of the extractor or of
	// the manager serves them.
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

// Config holds the address of the model server and its settings. Names are relative to the prefix that the service
// gives them, such as MNEME_LLM_.
type Config struct {
	// BaseURL is the endpoint up to and without /chat/completions.
	BaseURL string `env:"BASE_URL" envDefault:"http://127.0.0.1:8000/v1" desc:"base URL of the OpenAI-compatible endpoint, with its version path"`
	// Key is the API key. It is empty for a server without keys.
	Key config.Secret `env:"API_KEY" desc:"API key of the endpoint; empty if the endpoint needs no key"`
	// Model serves every role without a separate model.
	Model string `env:"MODEL" desc:"model of the roles without a specific model"`
	// EmbeddingModel is the model that embeds.
	EmbeddingModel string `env:"MODEL_EMBEDDING" desc:"embedding model, if MNEME_EMBEDDING is endpoint"`
	// Roles has the settings of roles that differ.
	Roles Roles `env:"ROLES" desc:"settings of single roles that differ, as YAML: {filter: {model: small, temperature: 0.3, timeout: 20s, concurrency: 4, window: 8192, max_output_tokens: 2048, extra_body: {top_k: 20}}}; roles are filter, extractor, manager, utilizer, generator, embedding"`
	// Timeout bounds one attempt.
	Timeout time.Duration `env:"TIMEOUT" envDefault:"2m" desc:"longest time one request may take"`
	// Retry says how failed requests are repeated.
	Retry Retry `envPrefix:"RETRY_"`
	// TenantConcurrency is how many requests of one tenant run at once.
	TenantConcurrency int `env:"TENANT_CONCURRENCY" envDefault:"4" desc:"concurrent requests of one tenant"`
	// Concurrency is how many requests of all tenants run at once.
	Concurrency int `env:"CONCURRENCY" envDefault:"32" desc:"concurrent requests of all tenants, shared by weight"`
	// TenantWeights are the tenants' shares of Concurrency while they compete; 1 where not named.
	TenantWeights map[string]int `env:"TENANT_WEIGHTS" desc:"weights of tenants that compete for requests, as tenant:weight; 1 for other tenants"`
	// TokensPerMinute limits the tokens of one tenant's calls a minute: prompts and answers, as the server counts
	// them. 0 is no limit. Calls beyond the limit wait. A call that passes the limit finishes, and the tenant's
	// next call waits for its debt.
	TokensPerMinute int64 `env:"TENANT_TOKENS_PER_MINUTE" envDefault:"0" desc:"tokens of one tenant a minute, in this process; further requests wait; 0 for no limit"`
	// Window bounds prompt and answer together, in tokens.
	Window int64 `env:"WINDOW" envDefault:"32768" desc:"context window of the model: prompt and answer together, in tokens; longer input is divided into several requests"`
	// MaxOutputTokens bounds an answer, in tokens.
	MaxOutputTokens int64 `env:"MAX_OUTPUT_TOKENS" envDefault:"4096" desc:"longest answer, in tokens"`
	// Temperature is the sampling temperature.
	Temperature float64 `env:"TEMPERATURE" envDefault:"0" desc:"sampling temperature, 0 to 2"`
	// Breaker sets when the client stops sending to a failing endpoint.
	Breaker Breaker `envPrefix:"BREAKER_"`
	// SchemaIn is the place of the answer's schema: a field of the request, the prompt, or both. With auto it
	// starts in the request. It moves when the server rejects the field or answers do not fit the schema.
	SchemaIn string `env:"SCHEMA" envDefault:"auto" oneof:"auto|request|prompt|both" desc:"where requests state the form of answers: in response_format (request), in the prompt, in both, or as the server needs it (auto)"`
	// Seed makes servers that use it repeatable.
	Seed int64 `envDefault:"1"`
	// Body adds fields to every request that OpenAI's API does not define, such as a switch for thinking.
	Body Body `env:"EXTRA_BODY" desc:"JSON object of further fields of requests, such as {\"chat_template_kwargs\":{\"enable_thinking\":false}}"`
}

// Breaker stops requests to an endpoint for a while after many failures in a row. Calls then fail at once with
// ErrUnavailable, without a wait for their timeouts. After the while one call tests whether the endpoint works again.
type Breaker struct {
	// Failures is the number of attempts in a row that must fail. 0 disables the breaker. Any answer, even a bad one,
	// and a 4xx show that the endpoint is reachable. A 429 shows nothing. A caller's own deadline counts only after a
	// tenth of the role's timeout has passed without any answer. One caller or several in a row may spend that time.
	// Failures: attempts that fail in a row before the endpoint is left alone; 0 for never.
	Failures uint32 `envDefault:"10"`
	// Pause is the time without requests. Pause: how long an endpoint that fails is left alone.
	Pause time.Duration `envDefault:"10s"`
}

// Body is a JSON object with further fields of a request. It cannot contain the fields that Mneme sets itself.
type Body map[string]json.RawMessage

// ours are the request fields that Mneme sets.
var ours = []string{"messages", "model", "n", "stream", "response_format", "input"}

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Body) UnmarshalText(text []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return errors.New(`is not a JSON object, want one such as {"top_k":20}`)
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
	// Max is the maximum number of repeats of a request. 0 means never.
	Max int `env:"MAX" envDefault:"4" desc:"most retries of a failed request"`
	// Base is the upper bound of the first wait; it doubles each time.
	Base time.Duration `env:"BASE" envDefault:"500ms" desc:"upper bound of the first wait between attempts; doubles each time"`
	// Cap is the upper bound of every wait that the client chooses.
	Cap time.Duration `env:"CAP" envDefault:"20s" desc:"upper bound of a wait between attempts"`
	// MaxServerWait is the longest Retry-After that the client waits for. Beyond it the call fails at once with a
	// fault.LaterError. Other calls to the model fail the same way until the time is over.
	// MaxServerWait: longest Retry-After that is waited for; beyond it the call fails, and those to the model until then.
	MaxServerWait time.Duration `envDefault:"60s"`
}

// DefaultConfig returns the default settings.
func DefaultConfig() Config {
	cfg, err := config.Load[Config](nil)
	if err != nil {
		panic("llm: the defaults do not load: " + err.Error())
	}
	return cfg
}

// Validate reports every setting that is out of range. It accepts a missing model. NewClient rejects a missing model.
func (c Config) Validate() error {
	u, err := url.Parse(c.BaseURL)
	r := c.Retry
	errs := []error{
		config.Require(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "", "BASE_URL", c.BaseURL,
			"an http or https URL"),
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
		errs = append(errs, config.Require(w >= 1 && w <= 1000, "TENANT_WEIGHTS", fmt.Sprintf("%s:%d", tenant, w),
			"weights from 1 to 1000"))
	}
	errs = append(errs, c.checkRoles()...)
	return errors.Join(errs...)
}

// base returns the role that supplies the settings of a role. A role of one strategy uses the settings of the
// extractor or the manager.
func base(r Role) Role {
	switch r {
	case RoleCore, RoleEpisodic, RoleSemantic, RoleProcedural, RoleFacts, RoleTopics:
		return RoleExtractor
	case RoleAgent, RoleFactManager, RoleTopicManager:
		return RoleManager
	}
	return r
}

// roles are the roles that may have settings.
var roles = []Role{RoleFilter, RoleExtractor, RoleManager, RoleUtilizer, RoleGenerator, RoleEmbedding}

// Roles has the settings of roles that differ from the settings of all roles.
type Roles map[Role]RoleSettings

// RoleSettings are the settings of one role. An unset field means the setting of all roles.
type RoleSettings struct {
	// Model is the name of the model.
	Model string `yaml:"model"`
	// Timeout bounds one attempt.
	Timeout *time.Duration `yaml:"timeout"`
	// Concurrency is the largest number of requests at once; 0 sets no limit for the role.
	Concurrency *int `yaml:"concurrency"`
	// Window bounds prompt and answer together, MaxOutputTokens the answer, in tokens.
	Window          *int64 `yaml:"window"`
	MaxOutputTokens *int64 `yaml:"max_output_tokens"`
	// Temperature is the sampling temperature, 0 to 2.
	Temperature *float64 `yaml:"temperature"`
	// Body has further fields of requests.
	Body Body `yaml:"extra_body"`
}

// UnmarshalText implements encoding.TextUnmarshaler. The text is YAML: a mapping from roles to their settings.
func (r *Roles) UnmarshalText(text []byte) error {
	var read map[Role]RoleSettings
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&read); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("is not YAML of roles: %w", err)
	}
	*r = read
	return nil
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (b *Body) UnmarshalYAML(node *yaml.Node) error {
	var fields map[string]any
	if err := node.Decode(&fields); err != nil {
		return err
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return b.UnmarshalText(text)
}

// checkRoles reports every setting of a role that is out of range.
func (c Config) checkRoles() []error {
	var errs []error
	for name, s := range c.Roles {
		require := func(field string, fine bool, value any, want string) {
			errs = append(errs, config.Require(fine, "ROLES", fmt.Sprintf("%s.%s: %v", name, field, value), want))
		}
		if !slices.Contains(roles, name) {
			errs = append(errs, config.Require(false, "ROLES", string(name), fmt.Sprintf("roles among %q", roles)))
			continue
		}
		if s.Timeout != nil {
			require("timeout", *s.Timeout > 0, *s.Timeout, "more than 0")
		}
		if s.Concurrency != nil {
			require("concurrency", *s.Concurrency > 0, *s.Concurrency, "more than 0")
		}
		if s.MaxOutputTokens != nil {
			require("max_output_tokens", *s.MaxOutputTokens > 0 && *s.MaxOutputTokens < c.WindowFor(name), *s.MaxOutputTokens,
				"more than 0, and less than the role's window")
		}
		if s.Window != nil {
			require("window", *s.Window > c.MaxOutputTokensFor(name), *s.Window, "more than the role's longest answer")
		}
		if s.Temperature != nil {
			require("temperature", *s.Temperature >= 0 && *s.Temperature <= 2, *s.Temperature, "0 to 2")
		}
	}
	return errs
}

// own returns a role's own setting, or else the setting of all roles.
func own[V any](value *V, all V) V {
	if value != nil {
		return *value
	}
	return all
}

// TimeoutFor bounds one attempt of a role.
func (c Config) TimeoutFor(r Role) time.Duration { return own(c.Roles[base(r)].Timeout, c.Timeout) }

// WindowFor is the window of a role's model, in tokens.
func (c Config) WindowFor(r Role) int64 { return own(c.Roles[base(r)].Window, c.Window) }

// MaxOutputTokensFor bounds an answer of a role, in tokens.
func (c Config) MaxOutputTokensFor(r Role) int64 {
	return own(c.Roles[base(r)].MaxOutputTokens, c.MaxOutputTokens)
}

// TemperatureFor is a role's sampling temperature.
func (c Config) TemperatureFor(r Role) float64 {
	return own(c.Roles[base(r)].Temperature, c.Temperature)
}

// ModelFor is the model of a role; empty when none is set.
func (c Config) ModelFor(r Role) string {
	if m := c.Roles[base(r)].Model; m != "" {
		return m
	}
	if r == RoleEmbedding && c.EmbeddingModel != "" {
		return c.EmbeddingModel
	}
	return c.Model
}

// HasModel reports whether any role has a model.
func (c Config) HasModel() bool {
	return slices.ContainsFunc(roles, func(r Role) bool { return c.ModelFor(r) != "" })
}

// BodyFor returns the further fields of a role's requests.
func (c Config) BodyFor(r Role) Body {
	if b := c.Roles[base(r)].Body; b != nil {
		return b
	}
	return c.Body
}
