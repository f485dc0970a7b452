package bustest

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mneme-memory/mneme/shared/bus"
)

// traces follows two traces through the bus: one batch of one trace, and one of both.
func traces(r *rig) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	r.instrument(bus.Telemetry{Tracer: provider})
	r.tr.CreateTopic(r, r.topic, 1)
	r.tr.CreateTopic(r, r.letterTopic(), 1)
	pub := bus.TracedPublisher(r.pub, r.ins)

	var mu sync.Mutex
	seen := make(map[string]trace.SpanContext)
	r.consume(r.standard("filter", r.pub, func(ctx context.Context, batch []bus.Message) error {
		mu.Lock()
		defer mu.Unlock()
		for _, m := range batch {
			seen[string(m.Value)] = trace.SpanContextFromContext(ctx)
		}
		return nil
	}))
	tracer := provider.Tracer("test")
	ctxA, rootA := tracer.Start(r.context(), "first")
	r.must(pub.Publish(ctxA, r.say("a", "one"), r.say("a", "two")))
	rootA.End()
	r.committedReaches(0, 2)

	ended := func(name string) []sdktrace.ReadOnlySpan {
		var out []sdktrace.ReadOnlySpan
		for _, s := range spans.Ended() {
			if s.Name() == name {
				out = append(out, s)
			}
		}
		return out
	}
	r.eventually("the spans have ended", func() bool { return len(ended("process "+r.topic)) >= 1 })
	sent := ended("send " + r.topic)
	if len(sent) != 2 || sent[0].SpanKind() != trace.SpanKindProducer || sent[0].Parent().SpanID() != rootA.SpanContext().SpanID() {
		r.Fatalf("sent spans: %v", sent)
	}
	for _, s := range ended("process " + r.topic) {
		if s.SpanContext().TraceID() != rootA.SpanContext().TraceID() || s.SpanKind() != trace.SpanKindConsumer || len(s.Links()) > 0 {
			r.Errorf("process span of %v has trace %v and links %v", s.SpanKind(), s.SpanContext().TraceID(), s.Links())
		}
		checkAttributes(r, s.Attributes())
	}
	mu.Lock()
	defer mu.Unlock()
	for value, sc := range seen {
		if sc.TraceID() != rootA.SpanContext().TraceID() {
			r.Errorf("the handler of %s saw trace %v", value, sc.TraceID())
		}
	}
}

func checkAttributes(r *rig, got []attribute.KeyValue) {
	r.Helper()
	set := attribute.NewSet(got...)
	for key, want := range map[attribute.Key]string{
		"messaging.system": "kafka", "messaging.operation.name": "process", "messaging.operation.type": "process",
		"messaging.destination.name": r.topic, "messaging.consumer.group.name": r.group,
		"messaging.destination.partition.id": "0",
	} {
		if v, _ := set.Value(key); v.AsString() != want {
			r.Errorf("%s is %q, want %q", key, v.AsString(), want)
		}
	}
}

// lag holds every record up and reads the gauge.
func lag(r *rig) {
	reader := sdkmetric.NewManualReader()
	r.instrument(bus.Telemetry{Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
	r.tr.CreateTopic(r, r.topic, 1)
	open := make(chan struct{})
	m := r.consume(func(ctx context.Context, _ []bus.Message) error {
		select {
		case <-open:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, func(c *bus.Config) { c.MaxInFlight = 4 })
	r.publish(r.numbered(20, 1)...)
	r.eventually("the lag shows", func() bool { return gauge(r, reader) == 20 })
	close(open)
	r.eventually("the lag is gone", func() bool { return gauge(r, reader) == 0 })
	m.stop()
	if got := gauge(r, reader); got != -1 {
		r.Errorf("a consumer that has left reports a lag of %d", got)
	}
}

// gauge returns the lag that is reported, -1 when none is.
func gauge(r *rig, reader sdkmetric.Reader) int64 {
	var data metricdata.ResourceMetrics
	r.must(reader.Collect(context.Background(), &data))
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			if g, ok := m.Data.(metricdata.Gauge[int64]); ok && m.Name == bus.MetricLag && len(g.DataPoints) == 1 {
				return g.DataPoints[0].Value
			}
		}
	}
	return -1
}
