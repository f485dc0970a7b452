package utilizer

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"go.opentelemetry.io/otel/metric"

	"github.com/mneme-memory/mneme/services/reranker"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/weights"
)

const (
	// followedTenants is the number of tenants with kept weights: the most recent ones.
	followedTenants = 1000
	// followFor is how long a tenant's weights are updated after its last recall.
	followFor = time.Hour
	// readsPerAge is the number of reads of weights within their maximum age.
	readsPerAge = 3
	// readTimeout is the timeout of one read.
	readTimeout = 2 * time.Second
)

// LearnedWeights has the weights that the reranker learned for each tenant, for the selection of candidates. A recall
// never waits for them: Run reads them in the background from the reranker's store. It is safe for concurrent use.
type LearnedWeights struct {
	store weights.Tenants
	prior ranking.Weights
	age   time.Duration
	now   func() time.Time
	count metric.Int64Counter
	log   *slog.Logger

	tenants *otter.Cache[string, *followed]
	// asked gets tenants without read weights.
	asked chan string
}

// followed is a tenant with regularly updated weights.
type followed struct {
	// asked is the time of the last recall that used them, in nanoseconds since 1970.
	asked atomic.Int64
	read  atomic.Pointer[readWeights]
}

// readWeights are weights with the time of their read.
type readWeights struct {
	revision uint64
	weights  ranking.Weights
	at       time.Time
}

// The source of the weights that selected the candidates of a recall.
const (
	choiceLearned  = "learned"  // the tenant's weights
	choicePrior    = "prior"    // the shared prior: the tenant has learned nothing
	choiceNotRead  = "not_read" // the shared prior: the tenant's weights have not been read yet
	choiceOutdated = "outdated" // the shared prior: the store has failed for too long
)

// NewLearnedWeights creates weights with a maximum age. The prior replaces older ones.
func NewLearnedWeights(
	store weights.Tenants, prior ranking.Weights, age time.Duration, now func() time.Time, m metric.Meter,
	log *slog.Logger,
) (*LearnedWeights, error) {
	count, err := telemetry.MetricCandidateChoice.Counter(m)
	if err != nil {
		return nil, err
	}
	tenants, err := otter.New(&otter.Options[string, *followed]{MaximumSize: followedTenants, Executor: func(work func()) {
		work()
	}})
	if err != nil {
		return nil, fmt.Errorf("cache of learned weights: %w", err)
	}
	return &LearnedWeights{
		store: store, prior: prior, age: age, now: now, count: count, log: log, tenants: tenants,
		asked: make(chan string, followedTenants),
	}, nil
}

// Of returns a tenant's weights; the caller must not change them. It returns the prior's weights if they are not
// available. It does not wait.
func (l *LearnedWeights) Of(ctx context.Context, tenant string) ranking.Weights {
	w, why := l.find(tenant)
	l.count.Add(ctx, 1, metric.WithAttributes(telemetry.AttrTenant.String(tenant), telemetry.AttrOutcome.String(why)))
	return w
}

func (l *LearnedWeights) find(tenant string) (_ ranking.Weights, why string) {
	now := l.now()
	f, known := l.tenants.GetIfPresent(tenant)
	if !known {
		f = &followed{}
		f.asked.Store(now.UnixNano())
		if _, first := l.tenants.SetIfAbsent(tenant, f); first {
			select {
			case l.asked <- tenant:
			default: // Run is late, and reads it with all others
			}
		}
		return l.prior, choiceNotRead
	}
	f.asked.Store(now.UnixNano())
	read := f.read.Load()
	switch {
	case read == nil:
		return l.prior, choiceNotRead
	case now.Sub(read.at) > l.age:
		return l.prior, choiceOutdated
	case read.weights.Version == 0:
		return l.prior, choicePrior
	}
	return read.weights, choiceLearned
}

// Run reads weights until ctx ends: a tenant's weights at its first recall, and all recent tenants' weights several
// times within the maximum age.
func (l *LearnedWeights) Run(ctx context.Context) error {
	ticker := time.NewTicker(max(l.age/readsPerAge, time.Millisecond))
	defer ticker.Stop()
	failing := false
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case tenant := <-l.asked:
			if f, ok := l.tenants.GetIfPresent(tenant); ok {
				err = l.read(ctx, tenant, f)
			}
		case <-ticker.C:
			err = l.readAll(ctx)
		}
		if err != nil && !failing && ctx.Err() == nil { // once per outage
			l.log.WarnContext(ctx, "cannot read learned weights: candidates come from the last known ones, then from the "+
				"shared prior", "error", err)
		}
		failing = err != nil
	}
}

// mostFailures is the number of consecutive failures that ends a round. The whole store is then unavailable, and each
// tenant would take a full timeout.
const mostFailures = 3

// readAll reads the weights of all recent tenants. A failure for one tenant does not affect the others.
func (l *LearnedWeights) readAll(ctx context.Context) error {
	var failed error
	failures := 0
	for tenant, f := range l.tenants.All() {
		if l.now().Sub(time.Unix(0, f.asked.Load())) > followFor {
			l.tenants.Invalidate(tenant)
			continue
		}
		err := l.read(ctx, tenant, f)
		if err == nil {
			failures = 0
			continue
		}
		failed = err
		if failures++; failures == mostFailures {
			break
		}
	}
	return failed
}

// read reads the changes of a tenant's weights from the store.
func (l *LearnedWeights) read(ctx context.Context, tenant string, f *followed) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	next := readWeights{at: l.now()}
	if known := f.read.Load(); known != nil {
		next.revision, next.weights = known.revision, known.weights
	}
	r, err := l.store.Load(ctx, tenant, next.revision)
	if err != nil {
		return err
	}
	if r.Revision != next.revision {
		next.revision, next.weights = r.Revision, l.usable(ctx, tenant, r)
	}
	f.read.Store(&next)
	return nil
}

// usable returns the weights of a record. It returns none if nothing was learned, or if they are unreadable or for
// other features.
func (l *LearnedWeights) usable(ctx context.Context, tenant string, r weights.Record) ranking.Weights {
	if r.Revision == 0 {
		return ranking.Weights{}
	}
	w, err := reranker.DecodeWeights(r.Body)
	if err != nil {
		l.log.ErrorContext(ctx, "cannot decode stored weights: candidates come from the shared prior", "tenant", tenant,
			"error", err)
	}
	if err != nil || w.FeatureSet != l.prior.FeatureSet || len(w.W) != len(l.prior.W) {
		return ranking.Weights{}
	}
	return w
}
