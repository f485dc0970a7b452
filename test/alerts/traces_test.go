//go:build chart

package alerts_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

type embedder struct{}

func (embedder) Embed(context.Context, []string) ([][]float32, error) { return nil, nil }
func (embedder) Dimension() int                                       { return 1 }
func (embedder) Model() string                                        { return "m" }

// spans returns the span attributes in dashboards' queries, by name, from real steps and embeddings.
func spans(t *testing.T) map[string][]string {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	tracer := trace.NewTracerProvider(trace.WithSpanProcessor(recorder)).Tracer("")
	observer, err := consolidation.NewObserver(tracer, noop.Meter{})
	if err != nil {
		t.Fatal(err)
	}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{observer}})
	env.RegisterActivityWithOptions(func(context.Context) error { return nil }, activity.RegisterOptions{Name: "Extract"})
	if _, err := env.ExecuteActivity("Extract"); err != nil {
		t.Fatal(err)
	}
	if _, err := embedding.Traced(embedder{}, tracer).Embed(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{
		telemetry.SpanRecall: {string(telemetry.AttrTenant)},
		"chat m":             {string(telemetry.AttrTenant), string(semconv.GenAIOperationNameKey)},
	}
	for _, span := range recorder.Ended() {
		all[span.Name()] = []string{}
		for _, a := range span.Attributes() {
			all[span.Name()] = append(all[span.Name()], string(a.Key))
		}
	}
	return all
}

var (
	ofResource = regexp.MustCompile(`resource\.([\w.]+)`)
	ofSpan     = regexp.MustCompile(`span\.([\w.]+)`)
	byName     = regexp.MustCompile(`\bname=~?"([^"]*)"`)
)

// meant returns the names of the spans that a trace query may match.
func meant(query string, from map[string][]string) (out []string) {
	for _, m := range ofResource.FindAllStringSubmatch(query, -1) {
		if m[1] != string(semconv.ServiceNamespaceKey) {
			return nil
		}
	}
	for name, attributes := range from {
		lacks := slices.ContainsFunc(ofSpan.FindAllStringSubmatch(query, -1), func(m []string) bool {
			return !slices.Contains(attributes, m[1]) && !strings.Contains(query, "|| span."+m[1]+"=nil")
		})
		named := byName.FindStringSubmatch(query)
		if !lacks && (named == nil || regexp.MustCompile("^(?:"+named[1]+")$").MatchString(name)) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func TestEveryQueryOfTracesFindsItsSpans(t *testing.T) {
	from := spans(t)
	want := map[string][]string{
		"Slow recalls": {"recall"}, "Slow calls of models": {"chat m", "embeddings m"},
		"Slow steps of forming memory": {"consolidation.Extract"},
		"Failed spans":                 {"chat m", "consolidation.Extract", "embeddings m", "recall"},
	}
	for _, b := range dashboards(t) {
		for _, p := range b.Panels {
			for _, target := range p.Targets {
				if strings.HasPrefix(target.Query, "{") {
					if found := meant(target.Query, from); !slices.Equal(found, want[p.Title]) {
						t.Errorf("%s %s finds %v, want %v: %s", b.path, p.Title, found, want[p.Title], target.Query)
					}
					delete(want, p.Title)
				}
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("no queries for %v", want)
	}
}
