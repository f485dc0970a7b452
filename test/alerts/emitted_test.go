//go:build chart

package alerts_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"connectrpc.com/otelconnect"
	"github.com/prometheus/otlptranslator"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// failing answers with the configured error code, or without an error if there is none.
type failing struct {
	mnemev1connect.UnimplementedUtilizerServiceHandler
	code connect.Code
}

func (f *failing) Recall(
	context.Context, *connect.Request[mnemev1.RecallRequest],
) (*connect.Response[mnemev1.RecallResponse], error) {
	if f.code != 0 {
		return nil, connect.NewError(f.code, context.Canceled)
	}
	return connect.NewResponse(&mnemev1.RecallResponse{}), nil
}

// emitted returns the label values from calls through the services' interceptors, by metric ("rpc_client",
// "rpc_server").
func emitted(t *testing.T) map[string]map[string][]string {
	t.Helper()
	reader := sdkmetric.NewManualReader()
	traces, err := otelconnect.NewInterceptor(otelconnect.WithMeterProvider(
		sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))))
	if err != nil {
		t.Fatal(err)
	}
	handler, mux := &failing{}, http.NewServeMux()
	mux.Handle(mnemev1connect.NewUtilizerServiceHandler(handler, connect.WithInterceptors(traces)))
	mux.Handle(mnemev1connect.NewRerankerServiceHandler(mnemev1connect.UnimplementedRerankerServiceHandler{},
		connect.WithInterceptors(traces)))
	server := httptest.NewServer(mux)
	defer server.Close()
	const secret = "sixteen-bytes-or-more"
	services := backend.New(server.Client(), server.URL, server.URL, secret, traces)
	ctx := access.NewContext(t.Context(), access.Principal{Tenant: tenant.Tenant{ID: "acme"},
		Scopes: []access.Scope{access.Recall}})
	for handler.code = 0; handler.code <= connect.CodeUnauthenticated; handler.code++ {
		_, err := services.Recall.Recall(ctx, connect.NewRequest(&mnemev1.RecallRequest{UserId: "u"}))
		if handler.code != 0 && connect.CodeOf(err) != handler.code {
			t.Fatalf("the call gave %v, want %v", err, handler.code)
		}
	}
	_, _ = services.Recall.Answer(ctx, connect.NewRequest(&mnemev1.AnswerRequest{
		Recall: &mnemev1.RecallRequest{UserId: "u"},
	}))
	_, _ = mnemev1connect.NewRerankerServiceClient(server.Client(), server.URL, connect.WithInterceptors(traces)).
		Rerank(ctx, connect.NewRequest(&mnemev1.RerankRequest{}))
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	out, labels := map[string]map[string][]string{}, otlptranslator.LabelNamer{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		name := strings.ReplaceAll(strings.TrimSuffix(m.Name, ".call.duration"), ".", "_")
		out[name] = map[string][]string{}
		for _, point := range m.Data.(metricdata.Histogram[float64]).DataPoints {
			for _, a := range point.Attributes.ToSlice() {
				label, err := labels.Build(string(a.Key))
				if err != nil {
					t.Fatal(err)
				}
				out[name][label] = append(out[name][label], a.Value.Emit())
			}
		}
	}
	return out
}

var (
	ofCalls = regexp.MustCompile(`(rpc_client|rpc_server)_call_duration_seconds_(?:count|sum|bucket)\{([^}]*)\}`)
	matcher = regexp.MustCompile(`(rpc_\w+|error_type) *(?:=~|!~|!=|=) *"([^"]+)"`)
)

// never returns the label values in a text that no call produces. n is the number of checked values.
func never(text string, from map[string]map[string][]string) (wrong []string, n int) {
	for _, series := range ofCalls.FindAllStringSubmatch(text, -1) {
		for _, m := range matcher.FindAllStringSubmatch(series[2], -1) {
			for value := range strings.SplitSeq(m[2], "|") {
				if n++; !slices.Contains(from[series[1]][m[1]], value) {
					wrong = append(wrong, series[1]+": "+m[1]+" is never "+value)
				}
			}
		}
	}
	return wrong, n
}

// Dashboards, rules and their tests use the label values of a failing service. Another version of a library may spell
// them differently.
func TestCallsAreNamedAsTheyAreCounted(t *testing.T) {
	from, looked := emitted(t), 0
	for _, q := range append(queries(t), query{"series.yaml", string(read(t, "series.yaml"))}) {
		wrong, n := never(q.text, from)
		for looked += n; len(wrong) > 0; wrong = wrong[1:] {
			t.Errorf("%s: %s", q.where, wrong[0])
		}
	}
	const lower = `rpc_server_call_duration_seconds_count{rpc_response_status_code=~"OK|unavailable"}`
	if wrong, _ := never(lower, from); looked < 30 || len(wrong) != 1 {
		t.Errorf("%d values were looked at; of a wrong one is said %v", looked, wrong)
	}
	for side, labels := range from {
		for _, key := range split[strings.ReplaceAll(side, "_", ".")+".call.duration"] {
			if label := strings.ReplaceAll(string(key), ".", "_"); len(labels[label]) == 0 {
				t.Errorf("%s has no label %s", side, label)
			}
		}
	}
}
