package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/time/rate"
)

const (
	exportTimeout = 10 * time.Second
	complainEvery = time.Minute
)

// exporters send to one collector. All three share a connection pool.
type exporters struct {
	traces  sdktrace.SpanExporter
	metrics metric.Exporter
	logs    sdklog.Exporter
	client  *http.Client
}

func newExporters(ctx context.Context, cfg Config, log *slog.Logger) (*exporters, error) {
	headers, err := cfg.headers()
	if err != nil {
		return nil, err
	}
	e := &exporters{client: &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true},
		Timeout:   exportTimeout,
	}}
	base := strings.TrimSuffix(cfg.Endpoint, "/")
	traces, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(base+"/v1/traces"),
		otlptracehttp.WithHeaders(headers), otlptracehttp.WithHTTPClient(e.client))
	if err != nil {
		return nil, fmt.Errorf("make trace exporter: %w", err)
	}
	metrics, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(base+"/v1/metrics"),
		otlpmetrichttp.WithHeaders(headers), otlpmetrichttp.WithHTTPClient(e.client))
	if err != nil {
		return nil, fmt.Errorf("make metric exporter: %w", err)
	}
	logs, err := otlploghttp.New(ctx, otlploghttp.WithEndpointURL(base+"/v1/logs"),
		otlploghttp.WithHeaders(headers), otlploghttp.WithHTTPClient(e.client))
	if err != nil {
		return nil, fmt.Errorf("make log exporter: %w", err)
	}
	e.traces = tolerantSpans{traces, complainer(log, "traces")}
	e.metrics = tolerantMetrics{metrics, complainer(log, "metrics")}
	e.logs = tolerantLogs{logs, complainer(log, "logs")}
	return e, nil
}

// complainer logs export errors, at most one a minute. The SDK would pass each to a process-global handler. The
// argument log must not export, or a log line would cause the next one.
func complainer(log *slog.Logger, signal string) func(error) {
	seldom := &rate.Sometimes{Interval: complainEvery}
	return func(err error) {
		if err == nil {
			return
		}
		seldom.Do(func() {
			log.Warn("telemetry is not reaching its collector", "signal", signal, "error", err.Error())
		})
	}
}

// The tolerant exporters drop a batch after a failed export, and log that now and then.

type tolerantSpans struct {
	sdktrace.SpanExporter
	complain func(error)
}

func (t tolerantSpans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	t.complain(t.SpanExporter.ExportSpans(ctx, spans))
	return nil
}

type tolerantMetrics struct {
	metric.Exporter
	complain func(error)
}

func (t tolerantMetrics) Export(ctx context.Context, data *metricdata.ResourceMetrics) error {
	t.complain(t.Exporter.Export(ctx, data))
	return nil
}

type tolerantLogs struct {
	sdklog.Exporter
	complain func(error)
}

func (t tolerantLogs) Export(ctx context.Context, records []sdklog.Record) error {
	t.complain(t.Exporter.Export(ctx, records))
	return nil
}
