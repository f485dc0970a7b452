// Package requests measures profiles for requests to an assistant. It measures whether a profile has the facts that a
// good answer must respect, and the share of unrelated facts in it. Memories are formed in the process. The
// utilizer's code writes the profiles, with the shipped weights.
package requests

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/services/utilizer"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
	"github.com/mneme-memory/mneme/shared/formation/salimory"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
	"github.com/mneme-memory/mneme/shared/model/wordvector"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	"github.com/mneme-memory/mneme/shared/recall"
	"github.com/mneme-memory/mneme/shared/recall/embedded"
	"github.com/mneme-memory/mneme/shared/store/bank"
	bankinmem "github.com/mneme-memory/mneme/shared/store/bank/inmem"
	"github.com/mneme-memory/mneme/shared/store/weights"
	weightsinmem "github.com/mneme-memory/mneme/shared/store/weights/inmem"
	"github.com/mneme-memory/mneme/shared/store/window"
	windowinmem "github.com/mneme-memory/mneme/shared/store/window/inmem"
	"github.com/mneme-memory/mneme/shared/tenant"
)

// Limits are the limits of a recall request.
type Limits struct {
	Candidates, Memories, WordBudget int
	// Floor and OwnPlaces are settings of the service.
	Floor     float64
	OwnPlaces int
}

// DefaultLimits returns the services' default limits.
func DefaultLimits() Limits {
	return Limits{Candidates: features.RelevanceDepth, Memories: 20, WordBudget: 400, Floor: 0.2, OwnPlaces: 2}
}

// Asked is a request with its profile.
type Asked struct {
	User     string
	Question dataset.Question
	Result   utilizer.Result
}

// Profiles forms the memories of users and writes a profile for each of their questions with evidence.
func Profiles(ctx context.Context, users []dataset.Subject, l Limits) (out []Asked, err error) {
	store, embedder := bankinmem.New(builtin.Dimension), builtin.New()
	pipeline := formation.Pipeline{
		Filter: saliency.NewTrained(), Former: salimory.NewEmbedded(), Strategy: salimory.Name, Embedder: embedder,
		Bank: store,
	}
	for _, u := range users {
		formed, err := pipeline.Form(ctx, u)
		if err != nil {
			return nil, err
		}
		if err := formed.Complete(); err != nil {
			return nil, err
		}
	}
	var now time.Time
	r, free, err := recaller(store, l, func() time.Time { return now })
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, free()) }()
	for _, u := range users {
		who := tenant.Tenant{ID: u.Scope.Tenant, Strategy: tenant.StrategySalimory, Policy: tenant.PolicyEmbedded}
		for _, q := range u.Questions {
			if !q.HasEvidence() {
				continue
			}
			now = q.AskedAt
			got, err := r.Recall(ctx, who, utilizer.Request{
				User: u.Scope.User, Query: q.Text, Candidates: l.Candidates, Memories: l.Memories, WordBudget: l.WordBudget,
			})
			if err != nil {
				return nil, err
			}
			if len(got.Degraded) > 0 || got.Searched {
				return nil, fmt.Errorf("recall of %q: degraded by %v, searched is %t, want all that is remembered", q.Text,
					got.Degraded,
					got.Searched)
			}
			out = append(out, Asked{User: u.Scope.User, Question: q, Result: got})
		}
	}
	return out, nil
}

// recaller returns the utilizer's recaller, with stores and reranker in the process.
func recaller(b bank.Bank, l Limits, now func() time.Time) (r *utilizer.Recaller, free func() error, err error) {
	win, err := windowinmem.New(window.DefaultLimits(), nil)
	if err != nil {
		return nil, nil, err
	}
	meter := noop.NewMeterProvider().Meter("requests")
	metrics, err := utilizer.NewMetrics(meter)
	if err != nil {
		return nil, nil, err
	}
	prior, err := features.Prior()
	if err != nil {
		return nil, nil, err
	}
	support, err := features.ShippedSupport()
	if err != nil {
		return nil, nil, err
	}
	relevance, err := features.ShippedRelevance()
	if err != nil {
		return nil, nil, err
	}
	tenants, err := weightsinmem.New(weights.Limits{Versions: 1, Traces: 1, TraceTTL: time.Hour}, now)
	if err != nil {
		return nil, nil, err
	}
	log := slog.New(slog.DiscardHandler)
	learned, err := utilizer.NewLearnedWeights(tenants, prior.Weights, time.Hour, now, meter, log)
	if err != nil {
		return nil, nil, err
	}
	indexes := utilizer.NewIndexCache(b, wordvector.Shipped(),
		utilizer.IndexCacheOptions{Bytes: 1 << 30, Entries: 100_000, Fresh: 24 * time.Hour}, log)
	profiler, generator := embedded.NewProfiler(), embedded.NewGenerator()
	return &utilizer.Recaller{
		Bank: b, Window: win, Embedder: builtin.New(), Ranker: local{prior.Weights}, Fallback: profiler,
		Policies: func(tenant.Policy) (recall.Profiler, recall.Generator, error) {
			return profiler, generator, nil
		},
		Indexes: indexes, Learned: learned, Prior: prior.Weights, Support: support, Relevance: relevance,
		Projector: ranking.NewProjector(), Floor: l.Floor, OwnPlaces: l.OwnPlaces,
		Tracer: tracenoop.NewTracerProvider().Tracer("requests"), Metrics: metrics, Log: log,
		RankTimeout: time.Minute, WindowTimeout: time.Minute, IndexTimeout: time.Minute, Now: now,
	}, indexes.Close, nil
}

// local orders as the reranker does by the shared prior, without a network.
type local struct{ weights ranking.Weights }

// Rank implements utilizer.Ranker.
func (l local) Rank(_ context.Context, a utilizer.Ask, m int) (utilizer.Order, error) {
	candidates, groups := make([]ranking.Candidate, len(a.Candidates)), make([]uint32, len(a.Candidates))
	for i, c := range a.Candidates {
		groups[i] = c.Group
		candidates[i] = ranking.Candidate{ID: c.ID, Features: c.Features, Cosine: c.Cosine}
	}
	scores, err := l.weights.Scores(nil, candidates)
	if err != nil {
		return utilizer.Order{}, err
	}
	ranking.Spread(candidates, scores, groups, ranking.DefaultSpread)
	return utilizer.Order{Places: ranking.Top(candidates, scores, m), Scores: scores, Version: "prior/0"}, nil
}
