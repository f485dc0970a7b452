//go:build chart

package alerts_test

import (
	"log/slog"
	"slices"
	"testing"

	"connectrpc.com/otelconnect"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/workflows/erasure"
)

// registry holds the labels of each metric. Names omit the suffixes of histograms.
type registry map[string][]string

// target are the labels that scraping adds with the chart's ServiceMonitor.
var target = []string{"namespace", "pod", "service", "container", "endpoint", "job", "instance",
	"app_kubernetes_io_name", "app_kubernetes_io_component"}

// split are the attributes that the code sets, by instrument.
var split = map[string][]attribute.Key{
	bus.MetricLag: {
		semconv.MessagingConsumerGroupNameKey, semconv.MessagingDestinationNameKey,
		semconv.MessagingDestinationPartitionIDKey,
	},
	erasure.MetricWaiting: {erasure.AttrStore},
	erasure.MetricAge:     {erasure.AttrStore},
	bus.MetricProcessed:   {semconv.MessagingConsumerGroupNameKey, semconv.MessagingDestinationNameKey},
	bus.MetricAge:         {semconv.MessagingConsumerGroupNameKey, semconv.MessagingDestinationNameKey},
	bus.MetricDuration: {semconv.MessagingConsumerGroupNameKey, semconv.MessagingDestinationNameKey,
		"mneme.bus.outcome"},
	bus.MetricRetried:      {semconv.MessagingDestinationNameKey},
	bus.MetricDeadLettered: {semconv.MessagingDestinationNameKey, "mneme.bus.handler"},
	"gen_ai.client.token.usage": {
		semconv.GenAIRequestModelKey, semconv.GenAIOperationNameKey, semconv.GenAIProviderNameKey, semconv.GenAITokenTypeKey,
		semconv.ServerAddressKey, semconv.ServerPortKey, "mneme.llm.role", "mneme.strategy", telemetry.AttrTenant,
	},
	"gen_ai.client.operation.duration": {
		semconv.GenAIRequestModelKey, semconv.GenAIOperationNameKey, semconv.GenAIProviderNameKey, semconv.ErrorTypeKey,
		semconv.ServerAddressKey, semconv.ServerPortKey, "mneme.llm.role", "mneme.strategy", telemetry.AttrTenant,
	},
	"rpc.server.call.duration": {"rpc.method", "rpc.system.name", "rpc.response.status_code",
		semconv.ErrorTypeKey},
	"rpc.client.call.duration": {"rpc.method", "rpc.system.name", "rpc.response.status_code",
		semconv.ErrorTypeKey},
	string(telemetry.MetricTurns):             {telemetry.AttrTenant, telemetry.AttrOutcome},
	string(telemetry.MetricStepTime):          {telemetry.AttrStep, telemetry.AttrOutcome},
	string(telemetry.MetricChanges):           {telemetry.AttrTenant, telemetry.AttrChange},
	string(telemetry.MetricRejected):          {telemetry.AttrTenant, telemetry.AttrOutcome},
	string(telemetry.MetricDelay):             {telemetry.AttrTenant},
	string(telemetry.MetricRecallTime):        {telemetry.AttrTenant},
	string(telemetry.MetricDegraded):          {telemetry.AttrDegraded},
	string(telemetry.MetricAnswers):           {telemetry.AttrTenant, telemetry.AttrAbstained},
	string(telemetry.MetricCandidateChoice):   {telemetry.AttrTenant, telemetry.AttrOutcome},
	string(telemetry.MetricFeedback):          {telemetry.AttrTenant, telemetry.AttrOutcome},
	string(telemetry.MetricReports):           {telemetry.AttrTenant, telemetry.AttrOutcome},
	string(telemetry.MetricWeightSteps):       {telemetry.AttrTenant, telemetry.AttrOutcome},
	string(telemetry.MetricWeightUpdate):      {},
	string(telemetry.MetricExplored):          {telemetry.AttrTenant, telemetry.AttrOutcome},
	string(telemetry.MetricRecallTraces):      {telemetry.AttrTenant, telemetry.AttrOutcome},
	string(telemetry.MetricRerankDegraded):    {telemetry.AttrTenant, telemetry.AttrOutcome},
	string(telemetry.MetricRefused):           {telemetry.AttrOutcome},
	string(telemetry.MetricLimited):           {telemetry.AttrTenant, "mneme.quota"},
	string(telemetry.MetricLimitsUnavailable): {telemetry.AttrOutcome},
	string(telemetry.MetricWebhooks):          {telemetry.AttrTenant, "mneme.webhook.result"},
	string(telemetry.MetricUsageLost):         {},
	string(telemetry.MetricRecordsLost):       {},
}

// known returns every metric that dashboards and alerts may use, under its name in Prometheus.
func known(t *testing.T) registry {
	t.Helper()
	p := &provider{}
	meter := p.Meter("")
	for _, m := range telemetry.Metrics() {
		var err error
		if m.Unit() == "s" {
			_, err = m.Histogram(meter)
		} else {
			_, err = m.Counter(meter)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err1 := bus.NewInstruments(bus.Telemetry{Meter: p})
	model := llm.DefaultConfig()
	model.Model = "m"
	_, err2 := llm.NewClient(model, llm.Deps{MeterProvider: p})
	_, err3 := otelconnect.NewInterceptor(otelconnect.WithMeterProvider(p))
	_, err4 := erasure.NewWatch(meter, erasure.Starter{}, slog.New(slog.DiscardHandler))
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r := registry{
		"up": target, "process_resident_memory_bytes": target, "process_cpu_seconds_total": target,
		// Metrics of kube-state-metrics.
		"kube_pod_status_ready":                     {"namespace", "pod", "uid", "condition"},
		"kube_deployment_spec_replicas":             {"namespace", "deployment"},
		"kube_deployment_status_replicas_available": {"namespace", "deployment"},
	}
	labels := otlptranslator.LabelNamer{}
	names := otlptranslator.NewMetricNamer("", otlptranslator.UnderscoreEscapingWithSuffixes)
	for _, m := range p.made {
		keys, ok := split[m.Name]
		if !ok {
			t.Errorf("what %s is split by is not listed here", m.Name)
			continue
		}
		name, err := names.Build(m)
		if err != nil {
			t.Fatal(err)
		}
		all := slices.Clone(target)
		for _, key := range keys {
			label, err := labels.Build(string(key))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, label)
		}
		if m.Type != otlptranslator.MetricTypeHistogram {
			r[name] = all
			continue
		}
		r[name+"_sum"], r[name+"_count"], r[name+"_bucket"] = all, all, append(slices.Clone(all), "le")
	}
	return r
}

// provider records the created instruments.
type provider struct {
	noop.MeterProvider
	made []otlptranslator.Metric
}

type meter struct {
	noop.Meter
	p *provider
}

func (p *provider) Meter(string, ...metric.MeterOption) metric.Meter { return meter{p: p} }

func (p *provider) note(name, unit string, kind otlptranslator.MetricType) {
	p.made = append(p.made, otlptranslator.Metric{Name: name, Unit: unit, Type: kind})
}

func (m meter) Int64Counter(name string, o ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	m.p.note(name, metric.NewInt64CounterConfig(o...).Unit(), otlptranslator.MetricTypeMonotonicCounter)
	return m.Meter.Int64Counter(name, o...)
}

func (m meter) Int64Histogram(name string, o ...metric.Int64HistogramOption) (metric.Int64Histogram, error) {
	m.p.note(name, metric.NewInt64HistogramConfig(o...).Unit(), otlptranslator.MetricTypeHistogram)
	return m.Meter.Int64Histogram(name, o...)
}

func (m meter) Float64Histogram(name string, o ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	m.p.note(name, metric.NewFloat64HistogramConfig(o...).Unit(), otlptranslator.MetricTypeHistogram)
	return m.Meter.Float64Histogram(name, o...)
}

func (m meter) Int64ObservableGauge(
	name string, o ...metric.Int64ObservableGaugeOption,
) (metric.Int64ObservableGauge, error) {
	m.p.note(name, metric.NewInt64ObservableGaugeConfig(o...).Unit(), otlptranslator.MetricTypeGauge)
	return m.Meter.Int64ObservableGauge(name, o...)
}
