package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
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
		Log:        NewLogger(cfg, stderr).With("service", serviceName),
		release:    func() {},
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
		Tracer:     tracenoop.NewTracerProvider(),
		Meter:      metricnoop.NewMeterProvider(),
		Propagator: propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
		Log:        slog.New(slog.DiscardHandler),
		Metrics:    promhttp.HandlerFor(prometheus.NewRegistry(), promhttp.HandlerOpts{}),
	}
}
