package reranker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/weights"
)

// nonePerTenant is how many tenants that never learned are remembered for each whose weights are: an entry of the first kind is a
// name and two numbers.
const nonePerTenant = 16

// Cache holds the weights of the tenants used last. What it says is at most Settings.Refresh old, while the store is there.
type Cache struct {
	store   weights.Tenants
	prior   ranking.Prior
	refresh time.Duration
	timeout time.Duration
	now     func() time.Time
	log     *slog.Logger

	learned *lru.Cache[string, held]
	none    *lru.Cache[string, checked]
	loads   singleflight.Group
	// away is until when the store is not asked, in ns since 1970, because it did not answer: one recall in a while finds out whether
	// it is back, and the others do not wait.
	away  atomic.Int64
	aside sync.Once
}

// checked is what was found at the last look at the store.
type checked struct {
	revision uint64
	at       time.Time
}

type held struct {
	checked
	weights ranking.Weights
}

// NewCache makes a cache of what a store keeps.
func NewCache(store weights.Tenants, prior ranking.Prior, s Settings, now func() time.Time, log *slog.Logger) (*Cache, error) {
	learned, err := lru.New[string, held](s.Tenants)
	if err != nil {
		return nil, fmt.Errorf("cache of weights: %w", err)
	}
	none, err := lru.New[string, checked](s.Tenants * nonePerTenant)
	if err != nil {
		return nil, fmt.Errorf("cache of weights: %w", err)
	}
	return &Cache{store: store, prior: prior, refresh: s.Refresh, timeout: s.LoadTimeout, now: now, log: log, learned: learned, none: none}, nil
}

// Len is how many tenants are held with weights, and how many are known to have none.
func (c *Cache) Len() (learned, none int) { return c.learned.Len(), c.none.Len() }

// Weights returns a tenant's weights, which nobody may change. Where the store does not answer, they are the last known ones, or the prior,
// and away says so.
func (c *Cache) Weights(ctx context.Context, tenant string) (_ ranking.Weights, away bool) {
	now := c.now()
	found, known := c.look(tenant)
	if known && now.Sub(found.at) < c.refresh {
		return found.weights, false
	}
	if now.UnixNano() < c.away.Load() {
		return found.weights, true
	}
	loaded, err, _ := c.loads.Do(tenant, func() (any, error) {
		// Whoever else waits for it shall not fail because the first one gave up.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.timeout)
		defer cancel()
		return c.load(ctx, tenant)
	})
	if err != nil {
		if c.away.Swap(now.Add(c.refresh).UnixNano()) < now.Add(-c.refresh).UnixNano() {
			c.log.WarnContext(ctx, "weights not read, orders are by the last known ones or the shared prior", "error", err)
		}
		return found.weights, true
	}
	return loaded.(ranking.Weights), false
}

// look returns what is held of a tenant; of one that is not known, the prior.
func (c *Cache) look(tenant string) (held, bool) {
	if h, ok := c.learned.Get(tenant); ok {
		return h, true
	}
	n, ok := c.none.Get(tenant)
	return held{checked: n, weights: c.prior.Weights}, ok
}

func (c *Cache) load(ctx context.Context, tenant string) (ranking.Weights, error) {
	found, _ := c.look(tenant)
	r, err := c.store.Load(ctx, tenant, found.revision)
	if err != nil {
		return ranking.Weights{}, err
	}
	if r.Revision == found.revision {
		c.hold(tenant, r.Revision, found.weights)
		return found.weights, nil
	}
	w := c.usable(ctx, tenant, r)
	c.hold(tenant, r.Revision, w)
	return w, nil
}

// usable returns the weights of a record, or the prior where there are none of these features. A record that cannot be read is an
// operator's to mend; until it changes, it is not read again.
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
		c.log.Warn("stored weights are for other features: they are put aside, and learning starts from the shared prior; said once, other tenants may follow",
			"tenant", tenant, "stored", featureSet, "used", c.prior.Weights.FeatureSet)
	})
}

// hold takes in what was read or written.
func (c *Cache) hold(tenant string, revision uint64, w ranking.Weights) {
	at := checked{revision: revision, at: c.now()}
	if w.Version == 0 {
		c.learned.Remove(tenant)
		c.none.Add(tenant, at)
		return
	}
	c.none.Remove(tenant)
	c.learned.Add(tenant, held{checked: at, weights: w})
}
