package utilizer_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/recall/embedded"
	"github.com/mneme-memory/mneme/shared/store/bank"
	bankinmem "github.com/mneme-memory/mneme/shared/store/bank/inmem"
	"github.com/mneme-memory/mneme/shared/store/window"
	windowinmem "github.com/mneme-memory/mneme/shared/store/window/inmem"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// reversing reverses the order of retrieval.
type reversing struct{}

func (reversing) Rank(_ context.Context, a utilizer.Ask, m int) (utilizer.Order, error) {
	n := len(a.Candidates)
	out := utilizer.Order{Scores: make([]float64, n), Version: "test/1"}
	for i := range min(m, n) {
		out.Places = append(out.Places, n-1-i)
		out.Scores[n-1-i] = float64(100 - i)
	}
	return out, nil
}

// Unavailable parts: they fail at once, or only at the timeout.
type (
	unavailableBank     struct{ unavailableCore }
	unavailableWindow   struct{ window.Window }
	slowWindow          struct{ window.Window }
	unavailableRanker   struct{}
	slowRanker          struct{}
	unavailableEmbedder struct{ embedding.Embedder }
	unavailableProfiler struct{}
	unavailableCore     struct{ bank.Bank }
	slowCore            struct{ bank.Bank }
)

func (unavailableCore) Core(context.Context, memory.Scope) (memory.Core, error) {
	return memory.Core{}, errUnavailable
}

func (slowCore) Core(ctx context.Context, _ memory.Scope) (memory.Core, error) {
	<-ctx.Done()
	return memory.Core{}, ctx.Err()
}

func (unavailableBank) List(context.Context, memory.Scope, bank.ListOptions) (bank.Page, error) {
	return bank.Page{}, errUnavailable
}

func (unavailableBank) Search(context.Context, memory.Scope, bank.Query) ([]bank.Scored, error) {
	return nil, errUnavailable
}

func (unavailableWindow) Recent(context.Context, memory.Scope, time.Time) ([]memory.Turn, error) {
	return nil, errUnavailable
}

func (slowWindow) Recent(ctx context.Context, _ memory.Scope, _ time.Time) ([]memory.Turn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (unavailableRanker) Rank(context.Context, utilizer.Ask, int) (utilizer.Order, error) {
	return utilizer.Order{}, errUnavailable
}

func (slowRanker) Rank(ctx context.Context, _ utilizer.Ask, _ int) (utilizer.Order, error) {
	<-ctx.Done()
	return utilizer.Order{}, ctx.Err()
}

func (unavailableEmbedder) Embed(context.Context, []string) ([][]float32, error) {
	return nil, errUnavailable
}

func (unavailableProfiler) Profile(context.Context, memory.Scope, recall.Evidence) (recall.Profile, error) {
	return recall.Profile{}, errUnavailable
}

// They are created once, because that takes some milliseconds.
var (
	profiler  = sync.OnceValue(embedded.NewProfiler)
	generator = sync.OnceValue(embedded.NewGenerator)
)

var facts = []string{"Ana lives in Porto.", "Ana lives with a dog in Porto.", "Ana is allergic to peanuts.",
	"Ana plays tennis."}

// seed fills a bank with the facts of ana, each from its own turn: t1, t2, ...
func seed(t testing.TB, b bank.Bank) []memory.Memory {
	t.Helper()
	vectors, err := builtin.New().Embed(t.Context(), facts)
	if err != nil {
		t.Fatal(err)
	}
	var w memory.Write
	for i, content := range facts {
		turn := fmt.Sprint("t", i+1)
		w.Put = append(w.Put, memory.Memory{
			ID: memory.DeriveID(ana, []string{turn}, 0), Kind: memory.KindFact, Content: content, Status: memory.StatusActive,
			Version:    1,
			RecordedAt: now, ValidFrom: now, Sources: []string{turn}, SessionID: "s1", Vector: vectors[i], TraceID: traceHex,
			SpanID: traceHex[:16],
		})
		w.Turns = append(w.Turns, memory.Turn{
			ID: turn, SessionID: "s1", Speaker: "Ana", Role: memory.RoleUser,
			Text: strings.NewReplacer("Ana lives", "I live", "Ana is", "I am", "Ana plays", "I play").Replace(content),
			Time: now.Add(time.Duration(i) * time.Minute),
		})
	}
	if err := b.Write(t.Context(), ana, w); err != nil {
		t.Fatal(err)
	}
	return w.Put
}

func newRecaller(t testing.TB) *utilizer.Recaller {
	t.Helper()
	b := bankinmem.New(builtin.Dimension)
	seed(t, b)
	win, err := windowinmem.New(window.Limits{Words: 100, Age: time.Hour, Idle: time.Hour}, nil)
	if err != nil {
		t.Fatal(err)
	}
	turn := memory.Turn{ID: "t9", SessionID: "s2", Speaker: "Ana", Role: memory.RoleUser, Text: "I am packing for Braga.",
		Time: now}
	if err := win.Append(t.Context(), ana, []memory.Turn{turn}); err != nil {
		t.Fatal(err)
	}
	metrics, err := utilizer.NewMetrics(noop.NewMeterProvider().Meter("test"))
	if err != nil {
		t.Fatal(err)
	}
	prior, err := features.Prior()
	if err != nil {
		t.Fatal(err)
	}
	relevance, err := features.ShippedRelevance()
	if err != nil {
		t.Fatal(err)
	}
	support, err := features.ShippedSupport()
	if err != nil {
		t.Fatal(err)
	}
	return &utilizer.Recaller{
		Bank: b, Window: win, Embedder: builtin.New(), Ranker: reversing{}, Fallback: profiler(),
		Policies: func(tenant.Policy) (recall.Profiler, recall.Generator, error) {
			return profiler(), generator(), nil
		},
		Indexes: newIndexCache(t, b, roomy), Prior: prior.Weights, Support: support, Relevance: relevance,
		Projector: ranking.NewProjector(),
		Learned:   newLearned(t, newWeightsStore(t), time.Hour, sdkmetric.NewManualReader()),
		Tracer:    sdktrace.NewTracerProvider().Tracer("test"), Metrics: metrics, Log: slog.New(slog.DiscardHandler),
		Alpha: 0.5, RankTimeout: 10 * time.Second, WindowTimeout: 10 * time.Second, IndexTimeout: 10 * time.Second,
		Reserve: time.Millisecond,
		Now:     func() time.Time { return now },
	}
}
