package llm

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

const scopeName = "github.com/mneme-memory/mneme/shared/model/llm"

// Attribute keys in addition to the GenAI conventions.
const (
	keyRole     = attribute.Key("mneme.llm.role")
	keyTenant   = attribute.Key("mneme.tenant.id")
	keyStrategy = attribute.Key("mneme.strategy")
	keyAttempts = attribute.Key("mneme.llm.attempts")
	keyRepair   = attribute.Key("mneme.llm.repair")
)

type telemetry struct {
	tracer   trace.Tracer
	tokens   genaiconv.ClientTokenUsage
	duration genaiconv.ClientOperationDuration
	server   []attribute.KeyValue
	told     func(ctx context.Context, tenant string, tokens int64)
}

func newTelemetry(deps Deps, server *url.URL) (*telemetry, error) {
	deps.MeterProvider = cmp.Or[metric.MeterProvider](deps.MeterProvider, metricnoop.NewMeterProvider())
	deps.TracerProvider = cmp.Or[trace.TracerProvider](deps.TracerProvider, tracenoop.NewTracerProvider())
	meter := deps.MeterProvider.Meter(scopeName)
	tokens, err := genaiconv.NewClientTokenUsage(meter)
	if err != nil {
		return nil, err
	}
	duration, err := genaiconv.NewClientOperationDuration(meter)
	if err != nil {
		return nil, err
	}
	t := &telemetry{tracer: deps.TracerProvider.Tracer(scopeName), tokens: tokens, duration: duration, told: deps.Used}
	t.server = append(t.server, semconv.ServerAddress(server.Hostname()))
	if port, err := strconv.Atoi(server.Port()); err == nil {
		t.server = append(t.server, semconv.ServerPort(port))
	}
	return t, nil
}

// operation is one call in telemetry, with its retries.
type operation struct {
	t       *telemetry
	tenant  string
	name    genaiconv.OperationNameAttr
	attrs   []attribute.KeyValue // of the metrics
	span    trace.Span
	started time.Time
}

func (t *telemetry) start(
	ctx context.Context, name genaiconv.OperationNameAttr, model string, r Request,
) (context.Context, *operation) {
	attrs := append([]attribute.KeyValue{
		semconv.GenAIRequestModel(model), keyRole.String(string(r.Role)), keyTenant.String(r.Scope.Tenant),
	}, t.server...)
	if r.Strategy != "" {
		attrs = append(attrs, keyStrategy.String(r.Strategy))
	}
	ctx, span := t.tracer.Start(ctx, string(name)+" "+model, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attrs...),
		trace.WithAttributes(semconv.GenAIOperationNameKey.String(string(name)), semconv.GenAIProviderNameOpenAI))
	return ctx, &operation{t: t, tenant: r.Scope.Tenant, name: name, attrs: attrs, span: span, started: time.Now()}
}

// used records tokens. Endpoints that do not count tokens report none.
func (o *operation) used(ctx context.Context, input, output int64) {
	record := func(n int64, kind genaiconv.TokenTypeAttr) {
		if n > 0 {
			o.t.tokens.Record(ctx, n, o.name, genaiconv.ProviderNameOpenAI, kind, o.attrs...)
		}
	}
	if o.t.told != nil && o.tenant != "" && input+output > 0 {
		o.t.told(ctx, o.tenant, input+output)
	}
	record(input, genaiconv.TokenTypeInput)
	record(output, genaiconv.TokenTypeOutput)
	o.span.SetAttributes(semconv.GenAIUsageInputTokens(int(input)), semconv.GenAIUsageOutputTokens(int(output)))
}

// end closes the span. Errors of this package quote no text.
func (o *operation) end(ctx context.Context, attempts int, err error) {
	attrs := o.attrs
	o.span.SetAttributes(keyAttempts.Int(attempts))
	if err != nil {
		class := errorClass(err)
		attrs = append(attrs[:len(attrs):len(attrs)], semconv.ErrorTypeKey.String(class))
		o.span.SetAttributes(semconv.ErrorTypeKey.String(class))
		o.span.SetStatus(codes.Error, class)
	}
	o.t.duration.Record(ctx, time.Since(o.started).Seconds(), o.name, genaiconv.ProviderNameOpenAI, attrs...)
	o.span.End()
}

// errorClass returns the class of an error: one of a few values.
func errorClass(err error) string {
	var se *StatusError
	switch {
	case errors.As(err, &se):
		return strconv.Itoa(se.Status)
	case errors.Is(err, errTimeout):
		return "timeout"
	case errors.Is(err, errLeftAlone):
		return "left_alone"
	case errors.Is(err, ErrUnavailable): // also a connection that took too long, which is a deadline, too
		return "unavailable"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "canceled"
	case errors.Is(err, ErrTruncated):
		return "truncated"
	case errors.Is(err, ErrRefused):
		return "refused"
	case errors.Is(err, ErrEmpty):
		return "empty"
	case errors.Is(err, ErrBudget):
		return "budget"
	case errors.Is(err, ErrMalformed):
		return "malformed"
	default:
		return "_OTHER"
	}
}

// Usage counts the cost of the calls made under one context. The zero value is ready. It is safe for concurrent use.
type Usage struct{ calls, input, output atomic.Int64 }

// Calls is the number of answers, including answers that needed a repair.
func (u *Usage) Calls() int64 { return u.calls.Load() }

// InputTokens is the total length of the prompts in tokens, as the server counts.
func (u *Usage) InputTokens() int64 { return u.input.Load() }

// OutputTokens is the total length of the answers in tokens, as the server counts.
func (u *Usage) OutputTokens() int64 { return u.output.Load() }

type usageKey struct{}

// WithUsage returns a context that counts every call in u, in addition to any counter that ctx already has.
func WithUsage(ctx context.Context, u *Usage) context.Context {
	outer, _ := ctx.Value(usageKey{}).([]*Usage)
	return context.WithValue(ctx, usageKey{}, append(outer[:len(outer):len(outer)], u))
}

// count adds an answer to the context's counters.
func count(ctx context.Context, input, output int64) {
	counters, _ := ctx.Value(usageKey{}).([]*Usage)
	for _, u := range counters {
		u.calls.Add(1)
		u.input.Add(input)
		u.output.Add(output)
	}
}
