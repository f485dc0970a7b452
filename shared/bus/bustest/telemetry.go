package bustest

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mneme-memory/mneme/shared/bus"
)

// traces follows one trace through send and process spans.
func traces(r *fixture) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	r.instrument(bus.Telemetry{Tracer: provider})
	r.tr.CreateTopic(r, r.topic, 1)
	r.tr.CreateTopic(r, r.deadLetterTopic(), 1)
	var seen trace.SpanContext
	r.consume(r.standard("filter", r.pub, func(ctx context.Context, _ []bus.Message) error {
		seen = trace.SpanContextFromContext(ctx)
		return nil
	}))
	ctx, root := provider.Tracer("test").Start(r.context(), "root")
	r.must(bus.TracedPublisher(r.pub, r.ins).Publish(ctx, r.say("a", "one")))
	root.End()
	r.eventually("all spans have ended", func() bool { return len(spans.Ended()) == 3 })
	byName := spansByName(spans)
	send, process := byName["send "+r.topic], byName["process "+r.topic]
	if len(send) != 1 || len(process) != 1 {
		r.Fatalf("spans are %v", byName)
	}
	if send[0].SpanKind() != trace.SpanKindProducer || send[0].Parent().SpanID() != root.SpanContext().SpanID() {
		r.Errorf("send span: kind %v, parent %v", send[0].SpanKind(), send[0].Parent())
	}
	if process[0].SpanKind() != trace.SpanKindConsumer || process[0].Parent().SpanID() != send[0].SpanContext().SpanID() {
		r.Errorf("process span: kind %v, parent %v", process[0].SpanKind(), process[0].Parent())
	}
	checkAttributes(r, process[0].Attributes())
	if seen.SpanID() != process[0].SpanContext().SpanID() {
		r.Errorf("the handler saw span %v", seen)
	}
}

// links delivers records of two traces in one batch.
func links(r *fixture) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	r.instrument(bus.Telemetry{Tracer: provider})
	r.tr.CreateTopic(r, r.topic, 1)
	pub := bus.TracedPublisher(r.pub, r.ins)
	rec := new(recorder)
	gated := gate(bus.Trace(r.ins, r.group)(rec.handle))
	entered := make(chan struct{}, 10)
	r.consume(func(ctx context.Context, batch []bus.Message) error {
		entered <- struct{}{}
		return gated(ctx, batch)
	})
	r.publish(r.say("a", "untraced"))
	within(r, "the first record is a batch of its own", entered)
	var ids []trace.TraceID
	for _, value := range []string{"one", "two"} {
		ctx, root := provider.Tracer("test").Start(r.context(), "root")
		r.must(pub.Publish(ctx, r.say("a", value)))
		root.End()
		ids = append(ids, root.SpanContext().TraceID())
	}
	r.publish(r.say("gate", ""))
	r.committedReaches(0, 4)
	processed := spansByName(spans)["process "+r.topic]
	if len(processed) == 0 {
		r.Fatal("no process span")
	}
	last := processed[len(processed)-1]
	linked := last.Links()
	if last.SpanContext().TraceID() != ids[1] || len(linked) != 1 || linked[0].SpanContext.TraceID() != ids[0] {
		r.Errorf("the batch's trace is %v with links %v, want %v and %v", last.SpanContext().TraceID(), linked, ids[1],
			ids[0])
	}
}

func spansByName(spans *tracetest.SpanRecorder) map[string][]sdktrace.ReadOnlySpan {
	out := make(map[string][]sdktrace.ReadOnlySpan)
	for _, s := range spans.Ended() {
		out[s.Name()] = append(out[s.Name()], s)
	}
	return out
}

func checkAttributes(r *fixture, got []attribute.KeyValue) {
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

// lag blocks every record and reads the gauge.
func lag(r *fixture) {
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

// gauge returns the reported lag, or -1.
func gauge(r *fixture, reader sdkmetric.Reader) int64 {
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
