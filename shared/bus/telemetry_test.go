package bus_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/bus/bustest"
	"github.com/mneme-memory/mneme/shared/fault"
)

// TestMetricsCountWhatHappened sends one record that succeeds, one that fails twice, and one that fails for good.
func TestMetricsCountWhatHappened(t *testing.T) {
	broker := bustest.StartBroker(t, 1, "t", "dead")
	pub := broker.Publisher()
	reader := sdkmetric.NewManualReader()
	ins := instruments(t, bus.Telemetry{Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
	failures := 2
	finished := make(chan struct{})
	h, err := bus.Standard(bus.StandardConfig{
		Group: "g", Handler: "h", DeadLetters: "dead", Timeout: time.Minute,
		Retry: bus.RetryConfig{Initial: time.Microsecond, Max: time.Microsecond, Panics: 1},
	}, pub, ins, func(_ context.Context, batch []bus.Message) error {
		switch string(batch[0].Value) {
		case "fails twice":
			if failures--; failures >= 0 {
				return errors.New("unavailable")
			}
		case "fails for good":
			return fault.Terminal("", "wrong")
		case "last":
			close(finished)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := bus.DefaultConfig("g")
	cfg.MaxBatch = 1
	stop := run(t, broker, cfg, h, ins)
	for _, value := range []string{"fine", "fails twice", "fails for good", "last"} {
		m := bus.Message{Topic: "t", Key: []byte("k"), Value: []byte(value)}
		if err := pub.Publish(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	<-finished
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int64)
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				got[m.Name] = d.DataPoints[0].Value
			case metricdata.Histogram[float64]:
				got[m.Name] = int64(d.DataPoints[0].Count)
			}
		}
	}
	for name, want := range map[string]int64{
		bus.MetricProcessed: 4, bus.MetricRetried: 2, bus.MetricDeadLettered: 1, bus.MetricDuration: 4, bus.MetricAge: 4,
	} {
		if got[name] != want {
			t.Errorf("%s is %d, want %d", name, got[name], want)
		}
	}
}

// sink keeps the published messages.
type sink struct{ msgs []bus.Message }

func (s *sink) Publish(_ context.Context, msgs ...bus.Message) error {
	s.msgs = append(s.msgs, msgs...)
	return nil
}

func (s *sink) Close() error { return nil }

func TestTracedPublisherChoosesItsParent(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	out := new(sink)
	ins := instruments(t, bus.Telemetry{Tracer: provider})
	pub := bus.TracedPublisher(bus.TracedPublisher(out, ins), ins)
	carried := bus.Header{Key: "traceparent", Value: []byte("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")}
	caller, root := provider.Tracer("test").Start(t.Context(), "caller")
	defer root.End()
	for _, c := range []struct {
		name    string
		ctx     context.Context
		headers []bus.Header
		want    func(trace.TraceID) bool
	}{
		{"outside any span it goes on with what the record carries", t.Context(), []bus.Header{carried},
			func(id trace.TraceID) bool { return id.String() == "4bf92f3577b34da6a3ce929d0e0e4736" }},
		{"a record keeps its own trace within another's span", caller, []bus.Header{carried},
			func(id trace.TraceID) bool { return id.String() == "4bf92f3577b34da6a3ce929d0e0e4736" }},
		{"without one of its own it joins the caller's", caller, nil,
			func(id trace.TraceID) bool { return id == root.SpanContext().TraceID() }},
		{"without either it begins a trace", t.Context(), nil,
			func(id trace.TraceID) bool { return id.IsValid() && id != root.SpanContext().TraceID() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := len(spans.Ended())
			if err := pub.Publish(c.ctx, bus.Message{Topic: "t", Headers: c.headers}); err != nil {
				t.Fatal(err)
			}
			if n := len(spans.Ended()) - before; n != 1 {
				t.Errorf("%d spans for one record", n)
			}
			headers := out.msgs[len(out.msgs)-1].Headers
			ctx := propagation.TraceContext{}.Extract(context.Background(), bus.HeaderCarrier{Headers: &headers})
			if id := trace.SpanContextFromContext(ctx).TraceID(); !c.want(id) {
				t.Errorf("the record carries trace %v", id)
			}
		})
	}
	if string(carried.Value) != "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" {
		t.Error("the caller's header was changed")
	}
}
