package reranker

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/weights"
)

// learnedWeight is the cache cost of an entry with weights. An entry of a tenant without learned weights is a name
// and two numbers, and costs 1.
const learnedWeight = 16

// Cache holds the weights of the last used tenants. Its weights are at most Settings.Refresh old while the store
// answers.
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

// cached is the result of the last read of a tenant's weights.
type cached struct {
	revision uint64
	weights  ranking.Weights
	// until is the time of the next read. Each tenant has its own time, also after a failed read. So one recall of the
	// tenant checks the store, and the other recalls do not wait. Other tenants are not affected.
	until       time.Time
	unavailable bool
}

// NewCache creates a cache in front of a store.
func NewCache(
	store weights.Tenants, prior ranking.Prior, s Settings, now func() time.Time, log *slog.Logger,
) (*Cache, error) {
	tenants, err := otter.New(&otter.Options[string, cached]{
		MaximumWeight: uint64(s.Tenants) * learnedWeight, //nolint:gosec // checked to be positive
		Weigher: func(_ string, c cached) uint32 {
			if c.weights.Version == 0 {
				return 1
			}
			return learnedWeight
		},
		Executor: func(work func()) { work() }, // evicts during an insert, so that the limit always holds
	})
	if err != nil {
		return nil, fmt.Errorf("cache of weights: %w", err)
	}
	return &Cache{store: store, prior: prior, refresh: s.Refresh, timeout: s.LoadTimeout, now: now, log: log,
		tenants: tenants}, nil
}

// Weights returns a tenant's weights; the caller must not change them. If the store fails, it returns the last known
// weights, or the prior, and sets unavailable.
func (c *Cache) Weights(ctx context.Context, tenant string) (_ ranking.Weights, unavailable bool) {
	found, ok := c.tenants.GetIfPresent(tenant)
	if !ok || !c.now().Before(found.until) {
		loaded, _, _ := c.loads.Do(tenant, func() (any, error) {
			// Other waiting callers must not fail because the first caller gave up.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.timeout)
			defer cancel()
			return c.load(ctx, tenant), nil
		})
		found = loaded.(cached)
	}
	return found.weights, found.unavailable
}

// load reads the changes of a tenant's weights from the store.
func (c *Cache) load(ctx context.Context, tenant string) cached {
	found, ok := c.tenants.GetIfPresent(tenant)
	if !ok {
		found.weights = c.prior.Weights
	}
	r, err := c.store.Load(ctx, tenant, found.revision)
	switch {
	case err == nil && r.Revision != found.revision:
		found.revision, found.weights = r.Revision, c.usable(ctx, tenant, r)
	case err != nil && !found.unavailable: // once per outage
		c.log.WarnContext(ctx, "cannot read weights, ranking by the last known ones or the shared prior", "tenant", tenant,
			"error", err)
	}
	found.unavailable = err != nil
	return c.storeFound(tenant, found)
}

// storeFound caches the result of a read or a write.
func (c *Cache) storeFound(tenant string, found cached) cached {
	found.until = c.now().Add(c.refresh)
	c.tenants.Set(tenant, found)
	return found
}

// usable returns the weights of a record. It returns the prior if the record has no weights for these features. An
// operator must repair an unreadable record; it is not read again until it changes.
func (c *Cache) usable(ctx context.Context, tenant string, r weights.Record) ranking.Weights {
	if r.Revision == 0 {
		return c.prior.Weights
	}
	s, err := decodeState(r.Body)
	if err != nil {
		c.log.ErrorContext(ctx, "cannot decode stored weights, ranking by the shared prior", "tenant", tenant, "error", err)
		return c.prior.Weights
	}
	if !c.same(s.Weights) {
		c.sayAside(tenant, s.Weights.FeatureSet)
		return c.prior.Weights
	}
	return s.Weights
}

// same reports whether weights are for the features in use.
func (c *Cache) same(w ranking.Weights) bool {
	return w.FeatureSet == c.prior.Weights.FeatureSet && len(w.W) == len(c.prior.Weights.W)
}

// sayAside logs once that weights for other features are not used.
func (c *Cache) sayAside(tenant, featureSet string) {
	c.aside.Do(func() {
		c.log.Warn("stored weights are for other features: they are put aside, and learning starts from the shared prior; "+
			"said once, other tenants may follow", "tenant", tenant, "stored", featureSet, "used", c.prior.Weights.FeatureSet)
	})
}

// tenantState is the stored state of a tenant.
type tenantState struct {
	ranking.State `json:"-"`
	// Hour and Reports are the number of learned reports in an hour since 1970, by the time of the reports.
	Hour    int64 `json:"hour"`
	Reports int   `json:"reports"`
	// Encoded is State in the stored form.
	Encoded []byte `json:"state"`
	// unreadable is the reason why the stored state is unusable. A rollback replaces the state.
	unreadable error
}

func (s tenantState) encode() (_ []byte, err error) {
	if s.Encoded, err = ranking.EncodeState(s.State); err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

func decodeState(b []byte) (s tenantState, err error) {
	if err := json.Unmarshal(b, &s); err != nil {
		return tenantState{}, fault.Terminal("state", "is not readable: %w", err)
	}
	s.State, err = ranking.DecodeState(s.Encoded)
	s.Encoded = nil
	return s, err
}

// DecodeWeights returns the weights in use from the stored state of a tenant.
func DecodeWeights(body []byte) (ranking.Weights, error) {
	s, err := decodeState(body)
	return s.Weights, err
}

// version is a version of a tenant's weights.
type version struct {
	// Weights are the weights of the version. Their Version is its number.
	ranking.Weights `json:"-"`
	Time            time.Time `json:"time"`
	Learned         uint64    `json:"learned"`
	Distance        float64   `json:"distance"`
	RolledBackTo    *uint64   `json:"rolled_back_to,omitempty"`
	// Encoded is Weights in the stored form.
	Encoded []byte `json:"weights"`
}

func (v version) encode() (_ weights.Version, err error) {
	if v.Encoded, err = ranking.EncodeState(ranking.State{Weights: v.Weights}); err != nil {
		return weights.Version{}, err
	}
	v.Time = v.Time.UTC()
	body, err := json.Marshal(v)
	return weights.Version{Number: v.Weights.Version, Body: body}, err
}

func decodeVersion(stored weights.Version) (v version, err error) {
	if err := json.Unmarshal(stored.Body, &v); err != nil {
		return version{}, fault.Terminal("version", "is not readable: %w", err)
	}
	state, err := ranking.DecodeState(v.Encoded)
	if err == nil && state.Weights.Version != stored.Number {
		err = fault.Terminal("version", "is stored as version %d, but contains version %d", stored.Number,
			state.Weights.Version)
	}
	v.Weights, v.Encoded = state.Weights, nil
	return v, err
}

// label returns the name of weights for callers and logs.
func label(w ranking.Weights) string {
	if w.Version == 0 {
		return "prior/0"
	}
	return fmt.Sprintf("learned/%d", w.Version)
}
