package wiring

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"time"

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

// Weights says where the reranker's weights and the traces of recalls are, and how much of them is kept.
type Weights struct {
	Redis
	// Versions: versions of weights kept to roll back to.
	Versions int           `envDefault:"100"`
	Traces   int           `env:"MNEME_RERANKER_TRACES" envDefault:"64" desc:"recalls of a user that wait for citations at most"`
	TraceTTL time.Duration `env:"MNEME_RERANKER_TRACE_TTL" envDefault:"24h" desc:"how long a recall waits for its citations"`
}

// Validate checks what the types do not.
func (w Weights) Validate() error {
	return errors.Join(
		config.Require(w.Traces > 0, "MNEME_RERANKER_TRACES", w.Traces, "more than zero"),
		config.Require(w.TraceTTL >= time.Millisecond, "MNEME_RERANKER_TRACE_TTL", w.TraceTTL, "at least 1ms"),
	)
}

// Limits are those of the store.
func (w Weights) Limits() weights.Limits {
	return weights.Limits{Versions: w.Versions, Traces: w.Traces, TraceTTL: w.TraceTTL}
}

// Open makes the store. It does not wait for Redis: memories can be ordered without.
func (w Weights) Open(tel *telemetry.Telemetry) (weights.Store, func() error, error) {
	return w.Redis.openWeights(tel, w.Limits())
}

// Prior says what every tenant's ranking starts from.
type Prior struct {
	File string `env:"MNEME_RERANKER_PRIOR" desc:"file of weights that every tenant's ranking starts from, as mneme-lab train reranker fits them to the embedding in use; the utilizer needs the reranker's; empty means the binary's"`
}

// Open reads the prior. One from a file has features of a name of its own, made of what is in it: services that were given different
// files notice, and what tenants learned from another start is put aside.
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

// OpenFor reads the prior for an embedder; one that was fitted to another is a terminal error.
func (p Prior) OpenFor(e embedding.Embedder) (ranking.Prior, error) {
	prior, err := p.Open()
	if err == nil && prior.Embedding != "" && prior.Embedding != e.Model() {
		err = fault.Terminal(
			"MNEME_RERANKER_PRIOR",
			"is %s, which was fitted to the embedder %s, want one for %s: fit it with mneme-lab train reranker",
			p.File,
			prior.Embedding,
			e.Model(),
		)
	}
	return prior, err
}

// priorNameLength is how many digits of a file's hash tell it from others.
const priorNameLength = 8

func (r Redis) openWeights(tel *telemetry.Telemetry, l weights.Limits) (weights.Store, func() error, error) {
	c, err := r.client(tel)
	if err != nil {
		return nil, nil, err
	}
	s, err := weightsredis.New(c, weightsredis.Options{Limits: l, Prefix: r.WeightsPrefix})
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return s, c.Close, nil
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

// RecallTraces are what the reranker keeps of a user, as a store to be erased.
type RecallTraces struct{ Store weights.Traces }

var _ erasure.Store = RecallTraces{}

// Name implements erasure.Store.
func (RecallTraces) Name() string { return "recall traces and reports" }

// Erase implements erasure.Store. What came after the request goes, too: nothing but learning rests on it.
func (t RecallTraces) Erase(ctx context.Context, r erasure.Request) error {
	return t.Store.Erase(ctx, r.Scope)
}

// Count implements erasure.Store.
func (t RecallTraces) Count(ctx context.Context, r erasure.Request) (int, error) {
	n, err := t.Store.Count(ctx, r.Scope)
	return n.Traces + n.Events, err
}
