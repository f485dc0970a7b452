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
	// followedTenants is how many tenants' weights are kept, of those who asked last.
	followedTenants = 1000
	// followFor is how long the weights of a tenant who does not ask are kept up to date.
	followFor = time.Hour
	// readsPerAge is how often weights are read again within the age up to which they are used.
	readsPerAge = 3
	// readTimeout bounds one read.
	readTimeout = 2 * time.Second
)

// LearnedWeights are what the reranker has learned of each tenant, to choose candidates by. A recall never waits for them: they are read
// in the background, by Run, from where the reranker keeps them. It is safe for concurrent use.
type LearnedWeights struct {
	store weights.Tenants
	prior ranking.Weights
	age   time.Duration
	now   func() time.Time
	count metric.Int64Counter
	log   *slog.Logger

	tenants *otter.Cache[string, *followed]
	// asked gets tenants whose weights have not been read yet.
	asked chan string
}

// followed is a tenant whose weights are kept up to date.
type followed struct {
	// asked is when a recall asked for them last, in nanoseconds since 1970.
	asked atomic.Int64
	read  atomic.Pointer[readWeights]
}

// readWeights are weights as they were in the store at a time.
type readWeights struct {
	revision uint64
	weights  ranking.Weights
	at       time.Time
}

// Whose weights chose the candidates of a recall, and why.
const (
	choiceLearned  = "learned"  // the tenant's own
	choicePrior    = "prior"    // the shared prior's: the tenant has learned nothing
	choiceNotRead  = "not_read" // the shared prior's: the tenant's have not been read yet
	choiceOutdated = "outdated" // the shared prior's: the store has not answered for too long
)

// NewLearnedWeights makes weights that are at most age old when they are used; older ones give way to the prior.
func NewLearnedWeights(
	store weights.Tenants, prior ranking.Weights, age time.Duration, now func() time.Time, m metric.Meter, log *slog.Logger,
) (*LearnedWeights, error) {
	count, err := telemetry.MetricCandidateChoice.Counter(m)
	if err != nil {
		return nil, err
	}
	tenants, err := otter.New(&otter.Options[string, *followed]{MaximumSize: followedTenants, Executor: func(work func()) { work() }})
	if err != nil {
		return nil, fmt.Errorf("cache of learned weights: %w", err)
	}
	return &LearnedWeights{
		store: store, prior: prior, age: age, now: now, count: count, log: log, tenants: tenants, asked: make(chan string, followedTenants),
	}, nil
}

// Of returns a tenant's weights, which nobody may change, or the prior's where they are not at hand. It does not wait.
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
			default: // Run is behind, and reads it with all others
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

// Run reads weights until ctx ends: a tenant's when it asks first, and those of all who asked lately several times within the age.
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
		if err != nil && !failing && ctx.Err() == nil { // once for an outage
			l.log.WarnContext(ctx, "learned weights not read: the last known ones choose candidates, then the shared prior", "error", err)
		}
		failing = err != nil
	}
}

// mostFailures in a row end a round: then the store as a whole is away, and each tenant would take as long as a read may.
const mostFailures = 3

// readAll reads the weights of all who asked lately. What cannot be read of one tenant is no matter of the others.
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

// read asks the store for what has changed of a tenant's weights.
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

// usable are the weights of a record; none where nothing was learned, or they are of other features, or cannot be read.
func (l *LearnedWeights) usable(ctx context.Context, tenant string, r weights.Record) ranking.Weights {
	if r.Revision == 0 {
		return ranking.Weights{}
	}
	w, err := reranker.DecodeWeights(r.Body)
	if err != nil {
		l.log.ErrorContext(ctx, "stored weights not readable, the shared prior chooses candidates", "tenant", tenant, "error", err)
	}
	if err != nil || w.FeatureSet != l.prior.FeatureSet || len(w.W) != len(l.prior.W) {
		return ranking.Weights{}
	}
	return w
}
