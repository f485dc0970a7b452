package reranker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/semaphore"

	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/weights"
)

const (
	// attempts is the maximum number of attempts to change weights that other replicas change, too.
	attempts = 25
	// firstPause is the pause after the first attempt. Pauses grow up to longestPause, and both are randomized.
	firstPause, longestPause = time.Millisecond, 40 * time.Millisecond
)

// Updater changes tenants' weights in sequence, despite other writers.
type Updater struct {
	// Store has the weights, and Cache gets the changes.
	Store weights.Tenants
	Cache *Cache
	// Prior is the initial weights of every tenant.
	Prior ranking.Prior
	// Versions is the number of kept versions per tenant.
	Versions int
	Now      func() time.Time

	// busy has a *semaphore.Weighted per tenant of the registry, so that a process does not compete with itself.
	busy sync.Map
}

// NewUpdater creates an updater of a store's weights.
func NewUpdater(store weights.Tenants, c *Cache, versions int) *Updater {
	return &Updater{Store: store, Cache: c, Prior: c.prior, Versions: versions, Now: c.now}
}

// pendingUpdate is a change in progress.
type pendingUpdate struct {
	tenantState
	versions []version
	user     string
	events   []weights.Event
}

// change applies decide to the stored state. It repeats until no other writer interferes, or ctx ends. A pending
// update without versions and events is no change.
func (u *Updater) change(
	ctx context.Context, tenant string, decide func(from tenantState) (*pendingUpdate, error),
) error {
	busy, _ := u.busy.LoadOrStore(tenant, semaphore.NewWeighted(1))
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = firstPause, longestPause
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := u.attempt(ctx, busy.(*semaphore.Weighted), tenant, decide)
		if err != nil && !errors.Is(err, weights.ErrConflict) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pause), backoff.WithMaxTries(attempts))
	return err
}

// attempt applies a change to the current stored state. It returns weights.ErrConflict if another writer was faster.
func (u *Updater) attempt(
	ctx context.Context, busy *semaphore.Weighted, tenant string, decide func(tenantState) (*pendingUpdate, error),
) error {
	if err := busy.Acquire(ctx, 1); err != nil {
		return err
	}
	defer busy.Release(1)
	r, err := u.Store.Load(ctx, tenant, 0)
	if err != nil {
		return err
	}
	from, made, err := u.begin(ctx, tenant, r)
	if err != nil {
		return err
	}
	p, err := decide(from)
	if err != nil || len(p.versions)+len(p.events) == 0 {
		return err
	}
	c := weights.Change{From: r.Revision, User: p.user, Events: p.events}
	if c.Body, err = p.encode(); err != nil {
		return err
	}
	made = append(made, p.versions...)
	for _, v := range made[max(0, len(made)-u.Versions):] {
		encoded, err := v.encode()
		if err != nil {
			return err
		}
		c.Versions = append(c.Versions, encoded)
	}
	if err := u.Store.Commit(ctx, tenant, c); err != nil {
		return err
	}
	u.Cache.storeFound(tenant, cached{revision: r.Revision + 1, weights: p.Weights})
	return nil
}

// begin returns the initial state of a change. It drops weights for other features: the shared prior becomes a new
// version, because version numbers are never reused.
func (u *Updater) begin(ctx context.Context, tenant string, r weights.Record) (tenantState, []version, error) {
	if r.Revision == 0 {
		return tenantState{State: ranking.NewState(u.Prior.Weights)}, nil, nil
	}
	s, err := decodeState(r.Body)
	if err != nil {
		number, versionsErr := u.newest(ctx, tenant)
		s = tenantState{State: ranking.NewState(u.Prior.Weights), unreadable: err}
		s.Weights.Version = number
		return s, nil, versionsErr
	}
	if u.Cache.same(s.Weights) {
		return s, nil, nil
	}
	u.Cache.sayAside(tenant, s.Weights.FeatureSet)
	number, prior := s.Weights.Version, uint64(0)
	s.State = ranking.State{Weights: u.Prior.Weights.Clone(), Learned: s.Learned}
	s.Weights.Version = number + 1
	return s, []version{{Weights: s.Weights, Time: u.Now(), Learned: s.Learned, RolledBackTo: &prior}}, nil
}

// newest returns the highest version number, or 0 without versions.
func (u *Updater) newest(ctx context.Context, tenant string) (uint64, error) {
	stored, err := u.Store.Versions(ctx, tenant)
	if err != nil || len(stored) == 0 {
		return 0, err
	}
	return stored[0].Number, nil
}
