// Package llm calls any OpenAI-compatible endpoint for the policies. It retries, limits and measures calls, and
// requests structured answers. Every unusable answer becomes an error of a separate kind. An unusable answer is
// never an empty result.
//
// The text of conversations is data. See DataBlock for its form in prompts.
package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/mneme-memory/mneme/shared/model/llm/structured"
)

// Deps are the dependencies of a client. Every field may be nil. Then the client does not log, measure or trace,
// and makes its own HTTP transport.
type Deps struct {
	Logger         *slog.Logger
	MeterProvider  metric.MeterProvider
	TracerProvider trace.TracerProvider
	// Used receives the tokens of a tenant's calls, as the server counts them. It includes rejected answers, and
	// leaves out calls without a tenant. It may be nil.
	Used func(ctx context.Context, tenant string, tokens int64)
	// Allowed reports whether a tenant may send requests. If not, a call ends with ErrBudget before it sends
	// anything. nil allows everything.
	Allowed func(ctx context.Context, tenant string) bool
	// Record receives every question with its answers. It may be nil. The client calls it before it returns the
	// answer, so it must be quick.
	Record func(ctx context.Context, r Record)
	// Transport carries the requests. The client closes idle connections only of a transport it made.
	Transport http.RoundTripper
}

// Client calls one endpoint. It is safe for concurrent use.
type Client struct {
	cfg      Config
	endpoint endpoint
	queue    *fairQueue
	places   map[Role]*fairQueue // for roles with a separate limit
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
	c.log = cmp.Or(c.log, slog.New(slog.DiscardHandler))
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

// connect makes the client of the server. This package makes the retries itself: bounded, fair and measured.
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

// Close drops idle connections. Calls under way continue.
func (c *Client) Close() {
	if c.owned != nil {
		c.owned.CloseIdleConnections()
	}
}

// ModelFor returns the model for a role. It is empty when none is configured.
func (c *Client) ModelFor(r Role) string { return c.cfg.ModelFor(r) }

func (c *Client) model(r Role) (string, error) {
	m := c.cfg.ModelFor(r)
	if m == "" {
		return "", fmt.Errorf("%w: no model is configured for role %s", ErrNotFound, r)
	}
	return m, nil
}

// quirks are the request features that the server of a model does not accept.
type quirks struct {
	noSchema, noTemperature, noSeed, newTokenLimit bool
	// loose says that answers ignore the schema although the server accepts one. The prompts then show the schema
	// too.
	loose bool
}

func (c *Client) quirksOf(model string) quirks {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.quirks[model]
	q.noSchema, q.loose = q.noSchema || c.cfg.SchemaIn == "prompt", q.loose || c.cfg.SchemaIn == "both"
	return q
}

// unlearn takes back the fields that the client gave up after before.
func (c *Client) unlearn(model string, before quirks) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before.loose = c.quirks[model].loose
	c.quirks[model] = before
}

// unfit records that an answer of a role did not fit its schema. The server accepts schemas but does not enforce
// them.
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

// learn records the request field that the endpoint complains about. It reports whether a second request without
// the field is useful.
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

// Ask sends a question and reads the answer with parse. The errors of parse come from structured.Faultf. Ask shows
// the model an answer that parse rejects once, together with the error. When the second answer fails too, the error
// wraps ErrMalformed.
//
// Errors of structured.Partly let Ask return the valid parts of an answer. It takes the answer with more valid
// parts. For equal numbers it takes the second answer. A second answer without a fault is used unless it has fewer
// parts than the first has valid parts.
func Ask[T any](ctx context.Context, c *Client, r Request, parse func(answer string) (T, error)) (out T, err error) {
	ctx, rec := c.recording(ctx, r)
	defer func() { rec.end(ctx, out, err) }()
	var none T
	answer, err := c.complete(ctx, r, nil)
	if err != nil {
		return none, fmt.Errorf("%s: %w", r.Role, err)
	}
	first, fault := parse(answer)
	rec.answered(answer, fault)
	if fault == nil {
		return first, nil
	}
	rec.asked(repairMessage(fault))
	answer, err = c.complete(ctx, r, &exchange{answer: answer, fault: fault})
	switch {
	case err == nil:
		second, again := parse(answer)
		rec.answered(answer, again)
		switch n, counted := parts(second); {
		case again == nil && (!counted || n >= structured.Right(fault)):
			return second, nil
		case again == nil: // the answer has no fault, but it omits valid parts of the first
		case structured.IsPartly(again) && structured.Right(again) >= structured.Right(fault):
			return second, nil
		default:
			err = fmt.Errorf("%s: %w: %w", r.Role, ErrMalformed, again)
		}
	case errors.As(err, new(unusableAnswer)):
		err = fmt.Errorf("%s, repairing: %w", r.Role, err)
	default:
		return none, fmt.Errorf("%s, repairing: %w", r.Role, err)
	}
	if structured.IsPartly(fault) {
		return first, nil
	}
	return none, err
}

// parted is the type of an answer with parts. Each part can fail alone, and an answer may omit a part.
type parted interface{ Parts() int }

// parts returns the number of parts of an answer. It returns false for an answer without parts.
func parts(out any) (int, bool) {
	if p, ok := out.(parted); ok {
		return p.Parts(), true
	}
	if v := reflect.ValueOf(out); v.Kind() == reflect.Slice {
		return v.Len(), true
	}
	return 0, false
}

// AskJSON is Ask for a structured answer. A is the struct that the schema of the request comes from. The function
// use turns an answer that fits the schema into the result, or returns its fault from structured.Faultf.
func AskJSON[A, T any](ctx context.Context, c *Client, r Request, use func(A) (T, error)) (T, error) {
	return Ask(ctx, c, r, func(answer string) (T, error) {
		var a A
		if err := structured.Decode(*r.Schema, answer, &a); err != nil {
			c.unfit(r.Role)
			var none T
			return none, err
		}
		return use(a)
	})
}
