package wiring_test

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation/llm"
	"github.com/mneme-memory/mneme/shared/model/embedding/endpoint"
	"github.com/mneme-memory/mneme/shared/model/llm/llmtest"
	"github.com/mneme-memory/mneme/shared/model/onnx/onnxtest"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	recallllm "github.com/mneme-memory/mneme/shared/recall/llm"
	"github.com/mneme-memory/mneme/shared/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// all has all settings.
type all struct {
	Bus       wiring.Bus
	Tenants   wiring.Tenants
	Window    wiring.Window
	Workflows wiring.Workflows
	Model     wiring.Model
	Embedding wiring.Embedding
}

func TestSettingsThatCannotBeUsedAreNamed(t *testing.T) {
	if _, err := config.Load[all](nil); err != nil {
		t.Fatalf("the defaults: %v", err)
	}
	tests := []struct{ variable, value string }{
		{"MNEME_KAFKA_PARTITIONS", "0"}, {"MNEME_KAFKA_PARTITIONS", "many"}, {"MNEME_KAFKA_REPLICAS", "-1"},
		{"MNEME_KAFKA_TLS", "perhaps"}, {"MNEME_KAFKA_USER", "lonely"}, {"MNEME_BUS_WORKERS", "0"},
		{"MNEME_WINDOW_WORDS", "0"}, {"MNEME_WINDOW_AGE", "1ns"}, {"MNEME_WINDOW_AGE", "a week"}, {"MNEME_WINDOW_IDLE", "0s"},
		{"MNEME_CONSOLIDATION_IDLE", "-1s"},
		{"MNEME_CONSOLIDATION_LINGER", "0s"}, {"MNEME_CONSOLIDATION_MALFORMED_ATTEMPTS", "0"},
		{"MNEME_KAFKA_SASL", "kerberos"}, {"MNEME_KAFKA_MIN_INSYNC_REPLICAS", "-1"}, {"MNEME_KAFKA_RETENTION", "other:1h"},
		{"MNEME_KAFKA_RETENTION", "mneme.feedback:0s"}, {"MNEME_TEMPORAL_TLS_CERT", "cert.pem"},
		{"MNEME_REDIS_SENTINEL_USER", "lonely"}, {"MNEME_EMBEDDING", "magic"}, {"MNEME_TENANTS_POLL", "soon"},
		{"MNEME_LLM_TIMEOUT", "soon"},
	}
	for _, tt := range tests {
		t.Run(tt.variable+"="+tt.value, func(t *testing.T) {
			_, err := config.Load[all](map[string]string{tt.variable: tt.value})
			if !fault.IsTerminal(err) || !strings.Contains(err.Error(), tt.variable) ||
				!strings.Contains(err.Error(), tt.value) {
				t.Errorf("got %v, want it to name %s and show %s", err, tt.variable, tt.value)
			}
		})
	}
}

func TestAPasswordWithoutUserIsRefusedAndNotShown(t *testing.T) {
	_, err := config.Load[all](map[string]string{"MNEME_KAFKA_PASSWORD": "hush"})
	if err == nil || !strings.Contains(err.Error(), "MNEME_KAFKA_USER") || strings.Contains(err.Error(), "hush") {
		t.Errorf("got %v", err)
	}
}

func TestCredentialsGoToTheCluster(t *testing.T) {
	b := wiring.Bus{Brokers: []string{"k1:9092"}}
	if c := b.Cluster("me"); c.TLS != nil || c.SASL != nil || c.ClientID != "me" ||
		!reflect.DeepEqual(c.Brokers, b.Brokers) {
		t.Errorf("without credentials: %+v", c)
	}
	b.TLS, b.User, b.Password = true, "mneme", "hush"
	c := b.Cluster("me")
	if c.TLS == nil || c.TLS.InsecureSkipVerify || c.SASL == nil || c.SASL.Name() != "PLAIN" {
		t.Errorf("with credentials: TLS %v, SASL %v", c.TLS, c.SASL)
	}
}

func newTelemetry(t *testing.T) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.New(t.Context(), "test", "", telemetry.Config{LogLevel: "error", LogFormat: "text"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(context.WithoutCancel(t.Context())) })
	return tel
}

// find gets a model's policies for the tenants of both policies. It returns the errors of each.
func find(t *testing.T, m wiring.Model) (embedded, llmErrs []error) {
	t.Helper()
	tel := newTelemetry(t)
	f := wiring.FormationOptions{Options: llm.DefaultOptions()}
	filters, free1, err1 := m.OpenFilters(f, tel)
	formers, free2, err2 := m.OpenFormers(f, tel)
	policies, free3, err3 := m.OpenRecallPolicies(wiring.RecallOptions{Options: recallllm.DefaultOptions()}, tel)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(free1(), free2(), free3()) })
	ask := func(p tenant.Policy) []error {
		_, err1 := filters.Find(p)
		_, _, err2 := policies.Find(p)
		out := []error{err1, err2}
		for _, s := range tenant.Strategies() {
			_, err := formers.Find(string(s), string(p))
			out = append(out, err)
		}
		return out
	}
	return ask(tenant.PolicyEmbedded), ask(tenant.PolicyLLM)
}

func TestWithoutAModelOnlyTenantsOfPolicyLLMWait(t *testing.T) {
	embedded, llmErrs := find(t, wiring.Model{})
	if err := errors.Join(embedded...); err != nil {
		t.Errorf("the embedded policy needs no model: %v", err)
	}
	for _, err := range llmErrs {
		if err == nil || !strings.Contains(err.Error(), "MNEME_LLM_MODEL") || fault.IsTerminal(err) {
			t.Errorf("got %v, want a retryable error that says what to set", err)
		}
	}
}

func TestWithAModelEveryPolicyIsThere(t *testing.T) {
	embedded, llmErrs := find(t, wiring.Model{Endpoint: llmtest.New(t).Config()})
	if err := errors.Join(append(embedded, llmErrs...)...); err != nil {
		t.Error(err)
	}
}

func TestASentenceEncoderInTheProcess(t *testing.T) {
	dir, tel := t.TempDir(), newTelemetry(t)
	if _, err := onnxtest.Write(dir, onnxtest.Tiny, 1); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load[all](map[string]string{"MNEME_EMBEDDING": "encoder", "MNEME_EMBEDDING_FOLDER": dir})
	if err != nil {
		t.Fatal(err)
	}
	e, free, err := cfg.Embedding.Open(t.Context(), cfg.Model, tel)
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	vectors, err := e.Embed(t.Context(), []string{"green tea"})
	if err != nil || len(vectors[0]) != onnxtest.Tiny.Width || e.Dimension() != onnxtest.Tiny.Width {
		t.Errorf("got %v, %v", vectors, err)
	}
	cfg.Embedding.Folder = t.TempDir()
	_, _, err = cfg.Embedding.Open(t.Context(), cfg.Model, tel)
	if !fault.IsTerminal(err) || !strings.Contains(err.Error(), "MNEME_EMBEDDING_FOLDER") ||
		!strings.Contains(err.Error(), "model.onnx") {
		t.Errorf("an empty folder: got %v", err)
	}
}

func TestAnUnknownStrategyIsNoMatterOfTheModel(t *testing.T) {
	tel := newTelemetry(t)
	for name, m := range map[string]wiring.Model{"no model": {}, "a model": {Endpoint: llmtest.New(t).Config()}} {
		formers, free, err := m.OpenFormers(wiring.FormationOptions{Options: llm.DefaultOptions()}, tel)
		if err != nil {
			t.Fatal(err)
		}
		defer free()
		for _, c := range []struct{ strategy, policy, field string }{
			{"magic", "embedded", "strategy"}, {"magic", "llm", "strategy"}, {"", "llm", "strategy"},
			{"salimory", "magic", "policy"},
		} {
			_, err := formers.Find(c.strategy, c.policy)
			if fault.Field(err) != c.field || !fault.IsTerminal(err) || strings.Contains(err.Error(), "MNEME_LLM_MODEL") {
				t.Errorf(
					"%s, strategy %q and policy %q: got %v, want a terminal error about the %s",
					name,
					c.strategy,
					c.policy,
					err,
					c.field,
				)
			}
		}
	}
}

func TestAnUnknownPolicyIsNoMatterOfTheModel(t *testing.T) {
	_, filterErr := wiring.Filters{}.Find("magic")
	_, _, recallErr := wiring.RecallPolicies{}.Find("magic")
	for _, err := range []error{filterErr, recallErr} {
		if fault.Field(err) != "policy" || !strings.Contains(err.Error(), `"magic"`) {
			t.Errorf("got %v, want a terminal error about the policy", err)
		}
	}
}

func TestEmbedders(t *testing.T) {
	tel := newTelemetry(t)
	e, free, err := wiring.Embedding{Kind: "builtin", Cache: 10}.Open(t.Context(), wiring.Model{}, tel)
	if err != nil || e.Dimension() == 0 || free() != nil {
		t.Errorf("builtin: %v", err)
	}
	_, _, err = wiring.Embedding{Kind: "endpoint"}.Open(t.Context(), wiring.Model{}, tel)
	if !fault.IsTerminal(err) || fault.Field(err) != "MNEME_LLM_MODEL_EMBEDDING" {
		t.Errorf("an endpoint without model gives %v", err)
	}
	options, server := endpoint.Options{Batch: 8}, llmtest.New(t)
	embed := wiring.Embedding{Kind: "endpoint", Cache: 10, Endpoint: options}
	e, free, err = embed.Open(t.Context(), wiring.Model{Endpoint: server.Config()}, tel)
	if err != nil || e.Dimension() != 64 {
		t.Fatalf("endpoint: %v", err)
	}
	defer free()
	if vectors, err := e.Embed(t.Context(), []string{"Ana lives in Porto."}); err != nil || len(vectors[0]) != 64 {
		t.Errorf("got %v, %v", vectors, err)
	}
	server.Always(llmtest.Status(500))
	_, _, err = wiring.Embedding{Kind: "endpoint", Endpoint: options}.Open(t.Context(),
		wiring.Model{Endpoint: server.Config()}, tel)
	var need *runner.NeedError
	if !errors.As(err, &need) || need.Dependency != "embedding endpoint" || fault.IsTerminal(err) {
		t.Errorf("an endpoint that is unavailable gives %v, want to wait for it", err)
	}
}

func TestAbandoningFreesInReverseAndKeepsTheKindOfTheError(t *testing.T) {
	var order []string
	b := &wiring.Builder{}
	for _, name := range []string{"bus", "window", "bank"} {
		b.OnClose(name, func() error { order = append(order, name); return nil })
	}
	cause := fault.Terminal("MNEME_X", "is wrong")
	app, err := b.Abandon(t.Context(), cause)
	if app != nil || !reflect.DeepEqual(err, cause) {
		t.Errorf("got %v, %v", app, err)
	}
	if want := []string{"bank", "window", "bus"}; !reflect.DeepEqual(order, want) {
		t.Errorf("freed %v, want %v", order, want)
	}
	stuck := errors.New("stuck")
	b.OnClose("stuck", func() error { return stuck })
	if _, err := b.Abandon(t.Context(), cause); !errors.Is(err, stuck) || !fault.IsTerminal(err) {
		t.Errorf("got %v, want both errors", err)
	}
}
