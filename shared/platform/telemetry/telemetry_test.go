package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collector counts the requests to an OTLP endpoint, by path.
type collector struct {
	mu     sync.Mutex
	bodies map[string]string
	auth   string
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies[r.URL.Path] += string(body)
	c.auth = r.Header.Get("Authorization")
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func start(t *testing.T, cfg telemetry.Config, stderr io.Writer) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.New(t.Context(), "booster", "v1", cfg, stderr)
	if err != nil {
		t.Fatal(err)
	}
	return tel
}

func shutdown(t *testing.T, tel *telemetry.Telemetry) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	if err := tel.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

func TestEverythingReachesTheCollector(t *testing.T) {
	sink := &collector{bodies: make(map[string]string)}
	server := httptest.NewServer(sink)
	defer server.Close()
	tel := start(t, telemetry.Config{Endpoint: server.URL + "/", SampleRatio: 1, Headers: "Authorization=Bearer%20x"},
		io.Discard)
	ctx, span := tel.Tracer.Tracer("test").Start(t.Context(), "memory extract")
	tel.Log.InfoContext(ctx, "extracted")
	tel.Log.DebugContext(ctx, "not at this level")
	counter, err := telemetry.MetricChanges.Counter(tel.Meter.Meter("test"))
	if err != nil {
		t.Fatal(err)
	}
	counter.Add(ctx, 3)
	span.End()
	shutdown(t, tel)
	sink.mu.Lock()
	defer sink.mu.Unlock()
	for path, want := range map[string]string{
		"/v1/traces": "memory extract", "/v1/metrics": "mneme.formation.changes", "/v1/logs": "extracted",
	} {
		if !strings.Contains(sink.bodies[path], want) || !strings.Contains(sink.bodies[path], "booster") {
			t.Errorf("%s got %q, without %q", path, sink.bodies[path], want)
		}
	}
	if strings.Contains(sink.bodies["/v1/logs"], "not at this level") {
		t.Error("a debug record was exported at level info")
	}
	if sink.auth != "Bearer x" {
		t.Errorf("authorization header is %q", sink.auth)
	}
}

func TestACollectorThatIsAwayIsMentionedOnceAndBreaksNothing(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	var stderr bytes.Buffer
	tel := start(t, telemetry.Config{Endpoint: server.URL, SampleRatio: 1}, &stderr)
	for range 3 {
		_, span := tel.Tracer.Tracer("test").Start(t.Context(), "s")
		span.End()
		if err := tel.Tracer.(*sdktrace.TracerProvider).ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	shutdown(t, tel)
	if n := strings.Count(stderr.String(), `"signal":"traces"`); n != 1 {
		t.Errorf("%d complaints about traces, want 1:\n%s", n, stderr.String())
	}
}

func TestShutdownDoesNotWaitForACollectorThatHangs(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	tel := start(t, telemetry.Config{Endpoint: server.URL, SampleRatio: 1}, io.Discard)
	ctx, span := tel.Tracer.Tracer("test").Start(t.Context(), "s")
	tel.Log.InfoContext(ctx, "hello")
	span.End()
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := tel.Shutdown(short) // the test ends at all only if this returns
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("shutdown: %v", err)
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Errorf("second shutdown: %v", err)
	}
}

func TestLogLinesCarryTheTraceAtTopLevel(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		var stderr bytes.Buffer
		tel := start(t, telemetry.Config{SampleRatio: 1, LogFormat: format}, &stderr)
		ctx, span := tel.Tracer.Tracer("test").Start(t.Context(), "s")
		tel.Log.With("a", 1).WithGroup("g").InfoContext(ctx, "hello", "b", 2)
		span.End()
		shutdown(t, tel)
		id := span.SpanContext().TraceID().String()
		if format == "text" {
			if !strings.Contains(stderr.String(), " trace_id="+id) || !strings.Contains(stderr.String(), "g.b=2") {
				t.Errorf("text line is %s", stderr.String())
			}
			continue
		}
		var line struct {
			TraceID string `json:"trace_id"`
			SpanID  string `json:"span_id"`
			Service string
			A       int
			G       struct{ B int }
		}
		if err := json.Unmarshal(stderr.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.TraceID != id || line.SpanID != span.SpanContext().SpanID().String() || line.G.B != 2 || line.A != 1 ||
			line.Service != "booster" {
			t.Errorf("line is %s", stderr.String())
		}
	}
}

func TestPrometheusShowsUnitsAndSecondsBuckets(t *testing.T) {
	tel := start(t, telemetry.Config{SampleRatio: 1}, io.Discard)
	defer shutdown(t, tel)
	meter := tel.Meter.Meter("test")
	counter, errCounter := telemetry.MetricRejected.Counter(meter)
	histogram, errHistogram := telemetry.MetricRecallTime.Histogram(meter)
	if errCounter != nil || errHistogram != nil {
		t.Fatal(errCounter, errHistogram)
	}
	counter.Add(t.Context(), 1)
	histogram.Record(t.Context(), 0.003)
	w := httptest.NewRecorder()
	tel.Metrics.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		"mneme_formation_rejected_total{", "mneme_recall_duration_seconds_bucket{", `le="0.0005"`, "go_goroutines",
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, w.Body.String())
		}
	}
}

func TestSamplingFollowsTheParentThenTheRatio(t *testing.T) {
	none := start(t, telemetry.Config{SampleRatio: 0}, io.Discard)
	defer shutdown(t, none)
	all := start(t, telemetry.Config{SampleRatio: 1}, io.Discard)
	defer shutdown(t, all)
	_, dropped := none.Tracer.Tracer("test").Start(t.Context(), "root")
	ctx, kept := all.Tracer.Tracer("test").Start(t.Context(), "root")
	_, child := none.Tracer.Tracer("test").Start(ctx, "child")
	if dropped.SpanContext().IsSampled() || !kept.SpanContext().IsSampled() || !child.SpanContext().IsSampled() {
		t.Errorf("sampled: root at 0 %v, root at 1 %v, child of a kept one %v", dropped.SpanContext().IsSampled(),
			kept.SpanContext().IsSampled(), child.SpanContext().IsSampled())
	}
}

func TestConfigIsChecked(t *testing.T) {
	for name, environ := range map[string]map[string]string{
		"ratio above one":    {"MNEME_TELEMETRY_SAMPLE_RATIO": "2"},
		"endpoint not a URL": {"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"},
		"headers not pairs":  {"OTEL_EXPORTER_OTLP_HEADERS": "s3same"},
		"unknown level":      {"MNEME_LOG_LEVEL": "loud"},
		"unknown log format": {"MNEME_LOG_FORMAT": "xml"},
	} {
		_, err := config.Load[telemetry.Config](environ)
		if err == nil {
			t.Errorf("%s was accepted", name)
			continue
		}
		for variable := range environ {
			if !strings.Contains(err.Error(), variable) || strings.Contains(err.Error(), "s3same") {
				t.Errorf("%s: error is %v", name, err)
			}
		}
	}
	if _, err := config.Load[telemetry.Config](nil); err != nil {
		t.Errorf("defaults are refused: %v", err)
	}
}

func TestEveryMetricHasItsUnitAndMeaning(t *testing.T) {
	for _, m := range telemetry.Metrics() {
		if m.Unit() == "" || m.Description() == "" {
			t.Errorf("%s has unit %q and description %q", m, m.Unit(), m.Description())
		}
	}
	if telemetry.Metric("mneme.unknown").Unit() != "" {
		t.Error("an unknown metric has a unit")
	}
}

func TestDiscardWorksEverywhere(t *testing.T) {
	tel := telemetry.Discard()
	ctx, span := tel.Tracer.Tracer("test").Start(t.Context(), "s")
	tel.Log.InfoContext(ctx, "nothing")
	span.End()
	if _, err := telemetry.MetricChanges.Counter(tel.Meter.Meter("test")); err != nil {
		t.Error(err)
	}
	w := httptest.NewRecorder()
	tel.Metrics.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK || tel.Propagator == nil {
		t.Errorf("metrics answered %d", w.Code)
	}
	shutdown(t, tel)
}
