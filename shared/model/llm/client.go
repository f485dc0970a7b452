package llm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Deps are what a client works with. Every field may be nil: then nothing is logged, measured or
// traced, and an HTTP transport is made.
type Deps struct {
	Logger         *slog.Logger
	MeterProvider  metric.MeterProvider
	TracerProvider trace.TracerProvider
	// Used is told of the tokens that a tenant's calls used, as the server counts them, those of answers that were not accepted
	// included; nil for nobody. Calls for no tenant in particular are not told.
	Used func(ctx context.Context, tenant string, tokens int64)
	// Allowed reports whether a tenant may ask: where not, calls end with ErrBudget before anything is sent. nil allows everything.
	Allowed func(ctx context.Context, tenant string) bool
	// Record is told of every question with its answers; nil for nobody. It is called before the answer is handed on, and has to be quick.
	Record func(ctx context.Context, r Record)
	// Transport carries the requests. The client closes idle connections only of a transport it made.
	Transport http.RoundTripper
}

// Client calls one endpoint. It is safe for concurrent use.
type Client struct {
	cfg      Config
	endpoint endpoint
	queue    *fairQueue
	places   map[Role]*fairQueue // of roles that have a limit of their own
	rate     *tokenRate
	asked    *pauses
	breaker  *breaker
	length   *promptLength
	tel      *telemetry
	log      *slog.Logger
	record   func(ctx context.Context, r Record)
	allowed  func(ctx context.Context, tenant string) bool
	owned    *http.Transport // nil when the transport was given

	mu     sync.Mutex
	quirks map[string]quirks // by model
}

// NewClient makes a client. It sends nothing.
func NewClient(cfg Config, deps Deps) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("llm configuration: %w", err)
	}
	if !cfg.HasModel() {
		return nil, errors.New("llm configuration: MODEL: is not set, want the name of a model")
	}
	server, err := url.Parse(cfg.BaseURL)
	if err != nil {
		return nil, errors.New("llm configuration: BASE_URL: want an http or https URL")
	}
	c := &Client{cfg: cfg, log: deps.Logger, record: deps.Record, allowed: deps.Allowed, quirks: map[string]quirks{}}
	c.queue = newFairQueue(cfg.TenantConcurrency, cfg.Concurrency, cfg.TenantWeights)
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.rate, c.length, c.places = newTokenRate(cfg.TokensPerMinute), newPromptLength(), map[Role]*fairQueue{}
	for role, s := range cfg.Roles {
		if s.Concurrency != nil {
			c.places[role] = newFairQueue(*s.Concurrency, *s.Concurrency, cfg.TenantWeights)
		}
	}
	c.asked = &pauses{until: map[string]time.Time{}}
	c.breaker = newBreaker(cfg.Breaker, c.log)
	if c.tel, err = newTelemetry(deps, server); err != nil {
		return nil, fmt.Errorf("llm metrics: %w", err)
	}
	c.connect(server, deps.Transport)
	return c, nil
}

// connect makes the client of the server. Retries are ours: bounded, fair and measured.
func (c *Client) connect(server *url.URL, transport http.RoundTripper) {
	if transport == nil {
		c.owned = newTransport(c.cfg.Concurrency)
		transport = c.owned
	}
	c.endpoint = endpoint{base: server, key: c.cfg.Key, http: &http.Client{Transport: transport}}
}

func newTransport(idle int) *http.Transport {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	if d, ok := http.DefaultTransport.(*http.Transport); ok {
		t = d.Clone()
	}
	t.MaxIdleConnsPerHost = idle
	return t
}

// Close drops idle connections. Calls under way are not ended.
func (c *Client) Close() {
	if c.owned != nil {
		c.owned.CloseIdleConnections()
	}
}

// ModelFor is the model that serves a role; empty when none is configured.
func (c *Client) ModelFor(r Role) string { return c.cfg.ModelFor(r) }

func (c *Client) model(r Role) (string, error) {
	m := c.cfg.ModelFor(r)
	if m == "" {
		return "", fmt.Errorf("%w: no model is configured for role %s", ErrNotFound, r)
	}
	return m, nil
}

// quirks are what a model's server turned out not to take.
type quirks struct {
	noSchema, noTemperature, noSeed, newTokenLimit bool
	// loose says that answers do not have the schema's form although the server takes one, so that prompts have to show it, too.
	loose bool
}

func (c *Client) quirksOf(model string) quirks {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.quirks[model]
	q.noSchema, q.loose = q.noSchema || c.cfg.SchemaIn == "prompt", q.loose || c.cfg.SchemaIn == "both"
	return q
}

// unlearn takes back which fields were given up since before.
func (c *Client) unlearn(model string, before quirks) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before.loose = c.quirks[model].loose
	c.quirks[model] = before
}

// unfit notes that an answer of a role did not have the form that was asked for: whoever takes schemas does not hold answers to them.
func (c *Client) unfit(r Role) {
	model := c.cfg.ModelFor(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.quirks[model]
	if q.loose || q.noSchema || c.cfg.SchemaIn != "auto" {
		return
	}
	q.loose = true
	c.quirks[model] = q
	c.log.Warn("model server takes a schema and does not hold answers to it, showing it in prompts, too", "model", model)
}

// learn notes the request field that the endpoint complains about, and reports whether sending again
// without it is worth while.
func (c *Client) learn(model string, used quirks, e *StatusError) bool {
	after := used
	var field string
	switch {
	case !used.noSchema && (e.names("response_format") || e.names("json_schema")):
		after.noSchema, field = true, "response_format"
	case !used.noTemperature && e.names("temperature"):
		after.noTemperature, field = true, "temperature"
	case !used.noSeed && e.names("seed"):
		after.noSeed, field = true, "seed"
	case !used.newTokenLimit && e.names("max_tokens"):
		after.newTokenLimit, field = true, "max_tokens"
	default:
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.quirks[model]
	news := q != union(q, after)
	c.quirks[model] = union(q, after)
	if news {
		c.log.Warn("model server does not take a request field, going on without it", "model", model, "field", field)
	}
	return true
}

func union(a, b quirks) quirks {
	return quirks{
		noSchema: a.noSchema || b.noSchema, noTemperature: a.noTemperature || b.noTemperature,
		noSeed: a.noSeed || b.noSeed, newTokenLimit: a.newTokenLimit || b.newTokenLimit, loose: a.loose || b.loose,
	}
}
