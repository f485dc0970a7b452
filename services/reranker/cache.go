package reranker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/weights"
)

// learnedWeight is what an entry with weights counts for in the bound of the cache; one of a tenant that never learned, which is a name
// and two numbers, counts for 1.
const learnedWeight = 16

// Cache holds the weights of the tenants used last. What it says is at most Settings.Refresh old, while the store answers.
type Cache struct {
	store   weights.Tenants
	prior   ranking.Prior
	refresh time.Duration
	timeout time.Duration
	now     func() time.Time
	log     *slog.Logger

	tenants *otter.Cache[string, cached]
	loads   singleflight.Group
	aside   sync.Once
}

// cached is what was found when the store was asked for a tenant's weights last.
type cached struct {
	revision uint64
	weights  ranking.Weights
	// until is when the store is asked again. It is kept for each tenant, also where the store did not answer: one recall of the tenant in a
	// while finds out whether it does, the others do not wait, and other tenants are not concerned.
	until       time.Time
	unavailable bool
}

// NewCache makes a cache of what a store keeps.
func NewCache(store weights.Tenants, prior ranking.Prior, s Settings, now func() time.Time, log *slog.Logger) (*Cache, error) {
	tenants, err := otter.New(&otter.Options[string, cached]{
		MaximumWeight: uint64(s.Tenants) * learnedWeight, //nolint:gosec // checked to be positive
		Weigher: func(_ string, c cached) uint32 {
			if c.weights.Version == 0 {
				return 1
			}
			return learnedWeight
		},
		Executor: func(work func()) { work() }, // evicts where something is added, so that the bound always holds
	})
	if err != nil {
		return nil, fmt.Errorf("cache of weights: %w", err)
	}
	return &Cache{store: store, prior: prior, refresh: s.Refresh, timeout: s.LoadTimeout, now: now, log: log, tenants: tenants}, nil
}

// Weights returns a tenant's weights, which nobody may change. Where the store does not answer, they are the last known ones, or the prior,
// and unavailable says so.
func (c *Cache) Weights(ctx context.Context, tenant string) (_ ranking.Weights, unavailable bool) {
	found, ok := c.tenants.GetIfPresent(tenant)
	if !ok || !c.now().Before(found.until) {
		loaded, _, _ := c.loads.Do(tenant, func() (any, error) {
			// Whoever else waits for it shall not fail because the first one gave up.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.timeout)
			defer cancel()
			return c.load(ctx, tenant), nil
		})
		found = loaded.(cached)
	}
	return found.weights, found.unavailable
}

// load asks the store for what has changed of a tenant's weights.
func (c *Cache) load(ctx context.Context, tenant string) cached {
	found, ok := c.tenants.GetIfPresent(tenant)
	if !ok {
		found.weights = c.prior.Weights
	}
	r, err := c.store.Load(ctx, tenant, found.revision)
	switch {
	case err == nil && r.Revision != found.revision:
		found.revision, found.weights = r.Revision, c.usable(ctx, tenant, r)
	case err != nil && !found.unavailable: // once for an outage
		c.log.WarnContext(ctx, "weights not read, orders are by the last known ones or the shared prior", "tenant", tenant, "error", err)
	}
	found.unavailable = err != nil
	return c.hold(tenant, found)
}

// hold takes in what was read or written.
func (c *Cache) hold(tenant string, found cached) cached {
	found.until = c.now().Add(c.refresh)
	c.tenants.Set(tenant, found)
	return found
}

// usable returns the weights of a record, or the prior where there are none of these features. A record that cannot be read is an
// operator's to repair; until it changes, it is not read again.
func (c *Cache) usable(ctx context.Context, tenant string, r weights.Record) ranking.Weights {
	if r.Revision == 0 {
		return c.prior.Weights
	}
	s, err := decodeState(r.Body)
	if err != nil {
		c.log.ErrorContext(ctx, "stored weights not readable, orders are by the shared prior", "tenant", tenant, "error", err)
		return c.prior.Weights
	}
	if !c.same(s.Weights) {
		c.sayAside(tenant, s.Weights.FeatureSet)
		return c.prior.Weights
	}
	return s.Weights
}

// same says whether weights are of the features in use.
func (c *Cache) same(w ranking.Weights) bool {
	return w.FeatureSet == c.prior.Weights.FeatureSet && len(w.W) == len(c.prior.Weights.W)
}

// sayAside says once that weights of other features are not used.
func (c *Cache) sayAside(tenant, featureSet string) {
	c.aside.Do(func() {
		c.log.Warn("stored weights are for other features: they are put aside, and learning starts from the shared prior; "+
			"said once, other tenants may follow", "tenant", tenant, "stored", featureSet, "used", c.prior.Weights.FeatureSet)
	})
}
