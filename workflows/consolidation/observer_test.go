package consolidation_test

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// Only the last part of a session counts, and parts applied while the session is open do not. A session that ended
// years ago and is imported today does not count in years.
func TestTheTimeFromASessionsEndToItsMemoriesIsMeasured(t *testing.T) {
	s, reader := newShop(t), sdkmetric.NewManualReader()
	observer, err := consolidation.NewObserver(tracenoop.NewTracerProvider().Tracer(""),
		sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("test"))
	if err != nil {
		t.Fatal(err)
	}
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{observer}})
	env.RegisterActivity(s.Apply)
	open := batchOf(1, "I live in Porto.")
	open.Closes, open.ClosedAt = false, time.Time{}
	closed := open
	closed.Closes, closed.ClosedAt = true, time.Now().Add(-time.Hour)
	old := closed
	old.Turns = slices.Clone(old.Turns)
	old.ClosedAt, old.Turns[0].DecidedAt = time.Now().AddDate(-5, 0, 0), time.Now().Add(-time.Hour)
	for _, in := range []consolidation.ApplyInput{{Batch: open}, {Batch: closed, More: true}, {Batch: closed},
		{Batch: old}} {
		in.Now = start
		if _, err := env.ExecuteActivity(s.Apply, in); err != nil {
			t.Fatal(err)
		}
	}
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	for _, m := range data.ScopeMetrics[0].Metrics {
		if m.Name != string(telemetry.MetricDelay) {
			continue
		}
		points := m.Data.(metricdata.Histogram[float64]).DataPoints
		if len(points) != 1 || points[0].Count != 2 || points[0].Sum < 2*3600 || points[0].Sum > 24*3600 {
			t.Errorf("measured %+v", points)
		}
		return
	}
	t.Error("nothing is measured")
}
