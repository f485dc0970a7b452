package wiring

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/platform/config"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/ranking/features"
	"github.com/mneme-memory/mneme/shared/store/weights"
	weightsredis "github.com/mneme-memory/mneme/shared/store/weights/redis"
	"github.com/mneme-memory/mneme/workflows/erasure"
)

// Weights configures the place and the size of the reranker's weights and recall traces.
type Weights struct {
	Redis
	// Versions is the number of versions of weights kept for a rollback.
	Versions int           `envDefault:"100"`
	Traces   int           `env:"MNEME_RERANKER_TRACES" envDefault:"64" desc:"most recalls of a user that wait for citations"`
	TraceTTL time.Duration `env:"MNEME_RERANKER_TRACE_TTL" envDefault:"24h" desc:"how long a recall waits for its citations"`
}

// Validate checks the limits that the types do not express.
func (w Weights) Validate() error {
	return errors.Join(
		config.Require(w.Traces > 0, "MNEME_RERANKER_TRACES", w.Traces, "more than zero"),
		config.Require(w.TraceTTL >= time.Millisecond, "MNEME_RERANKER_TRACE_TTL", w.TraceTTL, "at least 1ms"),
	)
}

// Limits returns the limits of the store.
func (w Weights) Limits() weights.Limits {
	return weights.Limits{Versions: w.Versions, Traces: w.Traces, TraceTTL: w.TraceTTL}
}

// Open creates the store. It does not wait for Redis: memories can be ranked without weights.
func (w Weights) Open(tel *telemetry.Telemetry) (weights.Store, func() error, error) {
	return w.Redis.openWeights(tel, w.Limits())
}

// Prior configures the initial ranking of every tenant.
type Prior struct {
	File string `env:"MNEME_RERANKER_PRIOR" desc:"file of the first ranking weights of every tenant, fitted to the embedding in use by mneme-lab train reranker; the utilizer needs the same file as the reranker; empty means the binary's weights"`
}

// Open reads the prior. The features of a prior from a file get a name derived from its content. So services detect
// different files, and a tenant's weights learned from another prior are put aside.
func (p Prior) Open() (ranking.Prior, error) {
	if p.File == "" {
		return features.Prior()
	}
	data, err := os.ReadFile(p.File)
	if err != nil {
		return ranking.Prior{}, fault.Terminal("MNEME_RERANKER_PRIOR", "%w", err)
	}
	prior, err := ranking.DecodePrior(data, features.FeatureSet, features.Names())
	if err != nil {
		return ranking.Prior{}, fault.Terminal("MNEME_RERANKER_PRIOR", "is %s: %w", p.File, err)
	}
	prior.Weights.FeatureSet += fmt.Sprintf("+%x", sha256.Sum256(data))[:1+priorNameLength]
	return prior, nil
}

// OpenFor reads the prior for an embedder. A prior fitted to another embedder is a terminal error.
func (p Prior) OpenFor(e embedding.Embedder) (ranking.Prior, error) {
	prior, err := p.Open()
	if err == nil && prior.Embedding != "" && prior.Embedding != e.Model() {
		err = fault.Terminal("MNEME_RERANKER_PRIOR",
			"is %s, which was fitted to the embedder %s, want one for %s: fit it with mneme-lab train reranker",
			p.File, prior.Embedding, e.Model())
	}
	return prior, err
}

// priorNameLength is the number of hash digits that distinguish prior files.
const priorNameLength = 8

func (r Redis) openWeights(tel *telemetry.Telemetry, l weights.Limits) (weights.Store, func() error, error) {
	return openOver(r, tel, func(c goredis.UniversalClient) (weights.Store, error) {
		return weightsredis.New(c, weightsredis.Options{Limits: l, Prefix: r.WeightsPrefix})
	})
}

// OpenTenantWeights opens the tenants' weights to be read, whatever their limits are. It does not wait for Redis.
func (r Redis) OpenTenantWeights(tel *telemetry.Telemetry) (weights.Tenants, func() error, error) {
	return r.openWeights(tel, weights.Limits{Versions: 1, Traces: 1, TraceTTL: time.Hour})
}

// openTraces opens the traces to be erased and counted, whatever their limits are.
func (r Redis) openTraces(tel *telemetry.Telemetry) (erasure.Store, func() error, error) {
	s, free, err := r.openWeights(tel, weights.Limits{Versions: 1, Traces: 1, TraceTTL: time.Hour})
	if err != nil {
		return nil, nil, err
	}
	return RecallTraces{s}, free, nil
}

// RecallTraces is the reranker's data of a user, as a store to erase.
type RecallTraces struct{ Store weights.Traces }

var _ erasure.Store = RecallTraces{}

// Name implements erasure.Store.
func (RecallTraces) Name() string { return "recall traces and reports" }

// Erase implements erasure.Store. It also erases data after the request, because only learning uses the traces.
func (t RecallTraces) Erase(ctx context.Context, r erasure.Request) error {
	return t.Store.Erase(ctx, r.Scope)
}

// Count implements erasure.Store.
func (t RecallTraces) Count(ctx context.Context, r erasure.Request) (int, error) {
	n, err := t.Store.Count(ctx, r.Scope)
	return n.Traces + n.Events, err
}
