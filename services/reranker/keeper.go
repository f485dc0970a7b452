package reranker

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/mneme-memory/mneme/shared/ranking"
	"github.com/mneme-memory/mneme/shared/store/weights"
)

const (
	// attempts to change weights that other replicas change, too.
	attempts = 25
	// pause after an attempt is up to this, times the attempts so far.
	pause = 2 * time.Millisecond
	// locks share out the tenants, so that a process does not compete with itself.
	locks = 64
)

// Updater changes tenants' weights, one change after another, whoever else does.
type Updater struct {
	// Store has them, Cache is told of changes.
	Store weights.Tenants
	Cache *Cache
	// Prior is where every tenant begins.
	Prior ranking.Prior
	// Versions are kept of a tenant.
	Versions int
	Now      func() time.Time

	seed maphash.Seed
	busy [locks]sync.Mutex
}

// NewUpdater makes a keeper.
func NewUpdater(store weights.Tenants, c *Cache, versions int) *Updater {
	return &Updater{Store: store, Cache: c, Prior: c.prior, Versions: versions, Now: c.now, seed: maphash.MakeSeed()}
}

// pendingUpdate is a change that is being made.
type pendingUpdate struct {
	tenantState
	versions []version
	user     string
	events   []weights.Event
}

// change has decide make a change of what is stored, as often as it takes until nobody else changed it meanwhile. A draft without
// versions and events is no change.
func (k *Updater) change(ctx context.Context, tenant string, decide func(from tenantState) (*pendingUpdate, error)) error {
	lock := &k.busy[maphash.String(k.seed, tenant)%locks]
	lock.Lock()
	defer lock.Unlock()
	for attempt := range attempts {
		err := k.try(ctx, tenant, decide)
		if !errors.Is(err, weights.ErrConflict) {
			return err
		}
		if err := wait(ctx, rand.N(pause*time.Duration(attempt+1))); err != nil { //nolint:gosec // spreads writers, no secret
			return err
		}
	}
	return fmt.Errorf("after %d attempts: %w", attempts, weights.ErrConflict)
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *Updater) try(ctx context.Context, tenant string, decide func(tenantState) (*pendingUpdate, error)) error {
	r, err := k.Store.Load(ctx, tenant, 0)
	if err != nil {
		return err
	}
	from, anew, err := k.begin(ctx, tenant, r)
	if err != nil {
		return err
	}
	d, err := decide(from)
	if err != nil || len(d.versions)+len(d.events) == 0 {
		return err
	}
	c := weights.Change{From: r.Revision, User: d.user, Events: d.events}
	if c.Body, err = d.encode(); err != nil {
		return err
	}
	made := append(anew, d.versions...)
	for _, v := range made[max(0, len(made)-k.Versions):] {
		encoded, err := v.encode()
		if err != nil {
			return err
		}
		c.Versions = append(c.Versions, encoded)
	}
	if err := k.Store.Commit(ctx, tenant, c); err != nil {
		return err
	}
	k.Cache.hold(tenant, r.Revision+1, d.Weights)
	return nil
}

// begin is what a change goes out from. Weights of other features are left behind: the shared prior becomes a new version, for
// numbers of versions are never given twice.
func (k *Updater) begin(ctx context.Context, tenant string, r weights.Record) (tenantState, []version, error) {
	if r.Revision == 0 {
		return tenantState{State: ranking.NewState(k.Prior.Weights)}, nil, nil
	}
	s, err := decodeState(r.Body)
	if err != nil {
		number, versionsErr := k.newest(ctx, tenant)
		s = tenantState{State: ranking.NewState(k.Prior.Weights), unreadable: err}
		s.Weights.Version = number
		return s, nil, versionsErr
	}
	if k.Cache.same(s.Weights) {
		return s, nil, nil
	}
	k.Cache.sayAside(tenant, s.Weights.FeatureSet)
	number, prior := s.Weights.Version, uint64(0)
	s.State = ranking.State{Weights: k.Prior.Weights.Clone(), Learned: s.Learned}
	s.Weights.Version = number + 1
	return s, []version{{Weights: s.Weights, Time: k.Now(), Learned: s.Learned, RolledBackTo: &prior}}, nil
}

// newest is the highest number that a version has, 0 where there is none.
func (k *Updater) newest(ctx context.Context, tenant string) (uint64, error) {
	stored, err := k.Store.Versions(ctx, tenant)
	if err != nil || len(stored) == 0 {
		return 0, err
	}
	return stored[0].Number, nil
}
