// Package telemetry makes the traces, metrics and logs of a service, and defines every name that they use. It has
// no global state. A Telemetry is built at start and passed to its users. So several services can run in one
// process, each with a separate Telemetry.
//
// The text of users (turns, queries, memories) does not belong in logs, spans or metrics.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/mneme-memory/mneme/shared/platform/config"
)

// Telemetry is a service's tracing, metrics and logging. Its fields are never nil. Tests may replace them, for
// example Tracer by one that records.
type Telemetry struct {
	// Tracer makes tracers. The parent decides sampling, else the configured ratio.
	Tracer trace.TracerProvider
	// Meter makes meters. Metrics exposes their values, and an export is optional.
	Meter metric.MeterProvider
	// Propagator carries the trace context and baggage over the bus and over HTTP.
	Propagator propagation.TextMapPropagator
	// Log writes to standard error and, if configured, to the collector.
	Log *slog.Logger
	// Metrics serves the Prometheus exposition.
	Metrics http.Handler

	shutdown []func(context.Context) error
	release  func()
}

// New builds the telemetry of one service. It does not wait for the collector, which may be unavailable now or
// later. The caller ends it with Shutdown.
func New(ctx context.Context, serviceName, version string, cfg Config, stderr io.Writer) (*Telemetry, error) {
	t := &Telemetry{
		Propagator: propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
		Log:        NewLogger(cfg, stderr).With("service", serviceName), release: func() {},
	}
	about := resource.NewSchemaless(semconv.ServiceNamespace("mneme"), semconv.ServiceName(serviceName),
		semconv.ServiceVersion(version), semconv.ServiceInstanceID(uuid.NewString()))
	var out *exporters
	if cfg.Endpoint != "" {
		var err error
		if out, err = newExporters(ctx, cfg, t.Log); err != nil {
			return nil, err
		}
	}
	t.startTraces(cfg, about, out)
	if err := t.startMetrics(about, out); err != nil {
		return nil, errors.Join(err, t.Shutdown(ctx))
	}
	t.startLogs(serviceName, cfg, about, out)
	return t, nil
}

func (t *Telemetry) startTraces(cfg Config, about *resource.Resource, out *exporters) {
	options := []sdktrace.TracerProviderOption{
		sdktrace.WithResource(about),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(cfg.SampleRatio))),
	}
	if out != nil {
		options = append(options, sdktrace.WithBatcher(out.traces))
		t.release = out.client.CloseIdleConnections
	}
	provider := sdktrace.NewTracerProvider(options...)
	t.Tracer = provider
	t.onShutdown(provider.Shutdown)
}

func (t *Telemetry) startMetrics(about *resource.Resource, out *exporters) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	exposition, err := otelprom.New(otelprom.WithRegisterer(registry))
	if err != nil {
		return fmt.Errorf("make metrics exposition: %w", err)
	}
	options := []sdkmetric.Option{
		sdkmetric.WithResource(about), sdkmetric.WithReader(exposition), sdkmetric.WithView(secondsView()),
	}
	if out != nil {
		options = append(options, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(out.metrics)))
	}
	provider := sdkmetric.NewMeterProvider(options...)
	t.Meter = provider
	t.Metrics = promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
	t.onShutdown(provider.Shutdown)
	return nil
}

// secondsView gives durations buckets from half a millisecond to a minute. The default buckets of the SDK are for
// milliseconds.
func secondsView() sdkmetric.View {
	return sdkmetric.NewView(
		sdkmetric.Instrument{Kind: sdkmetric.InstrumentKindHistogram, Unit: "s"},
		sdkmetric.Stream{Aggregation: sdkmetric.AggregationExplicitBucketHistogram{Boundaries: []float64{
			.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60,
		}}},
	)
}

func (t *Telemetry) startLogs(name string, cfg Config, about *resource.Resource, out *exporters) {
	if out == nil {
		return
	}
	provider := sdklog.NewLoggerProvider(sdklog.WithResource(about),
		sdklog.WithProcessor(sdklog.NewBatchProcessor(out.logs)))
	bridge := otelslog.NewHandler(name, otelslog.WithLoggerProvider(provider))
	t.Log = slog.New(slog.NewMultiHandler(t.Log.Handler(), atLeast{bridge, cfg.level()}))
	t.onShutdown(provider.Shutdown)
}

func (t *Telemetry) onShutdown(f func(context.Context) error) {
	t.shutdown = append(t.shutdown, f)
}

// Shutdown sends the waiting data and frees everything. It ends no later than ctx. Logging afterwards still reaches
// standard error. A second call does nothing.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	steps := t.shutdown
	t.shutdown = nil
	if len(steps) == 0 {
		return nil
	}
	errs := make([]error, len(steps))
	var all sync.WaitGroup
	for i, step := range steps { // at once: a collector that hangs costs the time of one signal, not of three
		all.Go(func() {
			if err := step(ctx); err != nil {
				errs[i] = fmt.Errorf("shut telemetry down: %w", err)
			}
		})
	}
	all.Wait()
	t.release()
	return errors.Join(errs...)
}

// Discard is a telemetry that records nothing, for tests.
func Discard() *Telemetry {
	return &Telemetry{
		Tracer: tracenoop.NewTracerProvider(), Meter: metricnoop.NewMeterProvider(),
		Propagator: propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
		Log:        slog.New(slog.DiscardHandler),
		Metrics:    promhttp.HandlerFor(prometheus.NewRegistry(), promhttp.HandlerOpts{}),
	}
}

// Config has the telemetry settings for operators.
type Config struct {
	// Endpoint is the base URL for OTLP/HTTP. Empty exports nothing.
	Endpoint string `env:"OTEL_EXPORTER_OTLP_ENDPOINT" desc:"base URL of an OTLP/HTTP collector for traces, metrics and logs, such as http://127.0.0.1:4318; empty exports nothing"`
	// Headers are sent with each export, as "name=value,name=value".
	Headers config.Secret `env:"OTEL_EXPORTER_OTLP_HEADERS" desc:"headers of every export, as name=value,name=value"`
	// SampleRatio is the share of kept traces among the traces that begin here.
	SampleRatio float64 `env:"MNEME_TELEMETRY_SAMPLE_RATIO" envDefault:"1" desc:"share of kept traces among the traces that begin in this service, 0 to 1; a trace from another service keeps the decision made there"`
	// LogLevel is the least severe level that is logged.
	LogLevel string `env:"MNEME_LOG_LEVEL" envDefault:"info" oneof:"debug|info|warn|error" desc:"lowest severity of the logged messages"`
	// LogFormat is the form of lines on standard error.
	LogFormat string `env:"MNEME_LOG_FORMAT" envDefault:"json" oneof:"json|text" desc:"form of the log lines on standard error"`
}

// Validate checks the rules that types cannot express.
func (c Config) Validate() error {
	_, headersErr := c.headers()
	return errors.Join(
		config.Require(c.SampleRatio >= 0 && c.SampleRatio <= 1, "MNEME_TELEMETRY_SAMPLE_RATIO", c.SampleRatio,
			"a number from 0 to 1"),
		config.Require(c.Endpoint == "" || isHTTP(c.Endpoint), "OTEL_EXPORTER_OTLP_ENDPOINT", c.Endpoint,
			"a URL such as http://127.0.0.1:4318"),
		config.Require(headersErr == nil, "OTEL_EXPORTER_OTLP_HEADERS", c.Headers, "name=value pairs between commas"),
	)
}

func isHTTP(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

var errHeaders = errors.New("headers are not name=value pairs")

// headers reads the OTEL_EXPORTER_OTLP_HEADERS form. Values are percent-encoded.
func (c Config) headers() (map[string]string, error) {
	headers := make(map[string]string)
	if c.Headers == "" {
		return headers, nil
	}
	for pair := range strings.SplitSeq(c.Headers.Reveal(), ",") {
		name, value, ok := strings.Cut(pair, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return nil, errHeaders
		}
		headers[name] = decoded
	}
	return headers, nil
}

func (c Config) level() slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return slog.LevelInfo // the zero Config logs at info
	}
	return level
}
