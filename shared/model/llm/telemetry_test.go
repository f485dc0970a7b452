package llm_test

import (
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
)

func TestCallsAreMeasuredAndTracedWithoutText(t *testing.T) {
	s := llmtest.New(t)
	s.Script(llm.RoleManager, llmtest.Status(500), llmtest.Text(good), llmtest.Refusal())
	reader := metric.NewManualReader()
	spans := tracetest.NewSpanRecorder()
	c, err := llm.NewClient(s.Config(), llm.Deps{
		MeterProvider:  metric.NewMeterProvider(metric.WithReader(reader)),
		TracerProvider: trace.NewTracerProvider(trace.WithSpanProcessor(spans)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := ask(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t.Context(), c); err == nil {
		t.Fatal("a refusal was accepted")
	}

	ended := spans.Ended()
	if len(ended) != 2 || ended[0].Name() != "chat scripted" {
		t.Fatalf("spans are %v", ended)
	}
	first := attribute.NewSet(ended[0].Attributes()...)
	for key, want := range map[attribute.Key]string{
		"gen_ai.operation.name": "chat", "gen_ai.request.model": "scripted", "mneme.llm.role": "manager",
		"mneme.tenant.id":    "acme",
		"mneme.llm.attempts": "2",
	} {
		if v, _ := first.Value(key); v.String() != want {
			t.Errorf("%s is %q, want %q", key, v.String(), want)
		}
	}
	second := attribute.NewSet(ended[1].Attributes()...)
	if v, _ := second.Value("error.type"); v.AsString() != "refused" {
		t.Errorf("error.type is %q", v.AsString())
	}
	if text := fmt.Sprint(first.ToSlice(), second.ToSlice()); strings.Contains(text, "say yes") ||
		strings.Contains(text, "rules") {
		t.Errorf("spans hold text: %s", text)
	}

	var rm metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &rm); err != nil {
		t.Fatal(err)
	}
	tokens, calls := measured(rm)
	if tokens["input"] == 0 || tokens["output"] == 0 {
		t.Errorf("tokens are %v", tokens)
	}
	if calls != 2 {
		t.Errorf("%d operations measured, want 2", calls)
	}
}

// measured sums tokens by type and counts operations.
func measured(rm metricdata.ResourceMetrics) (tokens map[string]int64, operations uint64) {
	tokens = map[string]int64{}
	for _, sm := range rm.ScopeMetrics {
		for _, m := range sm.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[int64]:
				for _, p := range data.DataPoints {
					kind, _ := p.Attributes.Value("gen_ai.token.type")
					tokens[kind.AsString()] += p.Sum
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					operations += p.Count
				}
			}
		}
	}
	return tokens, operations
}
