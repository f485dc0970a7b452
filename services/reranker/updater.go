package reranker

import (
	"context"
	"errors"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/semaphore"
	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
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

// ListWeights implements the RPC.
func (s *Server) ListWeights(
	ctx context.Context, _ *connect.Request[mnemev1.ListWeightsRequest],
) (*connect.Response[mnemev1.ListWeightsResponse], error) {
	t, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	inUse, versions, err := s.Updater.list(ctx, t.ID)
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.Log, "list weights", err)
	}
	prior := s.Updater.Prior
	res := &mnemev1.ListWeightsResponse{FeatureSet: prior.Weights.FeatureSet}
	for _, v := range versions {
		res.Versions = append(res.Versions, v.message())
	}
	res.Versions = append(res.Versions, &mnemev1.WeightsVersion{})
	for i, name := range prior.Names {
		res.Features = append(res.Features, &mnemev1.FeatureWeight{
			Name: name, Weight: float64(inUse.W[i]), Prior: float64(prior.Weights.W[i]),
		})
	}
	return connect.NewResponse(res), nil
}

// RollbackWeights implements the RPC.
func (s *Server) RollbackWeights(
	ctx context.Context, req *connect.Request[mnemev1.RollbackWeightsRequest],
) (*connect.Response[mnemev1.RollbackWeightsResponse], error) {
	t, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	made, err := s.Updater.rollback(ctx, t.ID, req.Msg.GetVersion())
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.Log, "roll back weights", err)
	}
	add(ctx, s.Metrics.Steps, t.ID, stepRolledBack, 1)
	s.Log.InfoContext(ctx, "weights rolled back", "tenant", t.ID, "to", req.Msg.GetVersion(), "version",
		made.Weights.Version)
	return connect.NewResponse(&mnemev1.RollbackWeightsResponse{Version: made.message()}), nil
}

func (v version) message() *mnemev1.WeightsVersion {
	return &mnemev1.WeightsVersion{
		Version: v.Weights.Version, Time: timestamppb.New(v.Time), Learned: v.Learned, Distance: v.Distance,
		RolledBackTo: v.RolledBackTo,
	}
}

// list returns the weights in use, and the usable versions, newest first. It omits versions that are unreadable or
// for other features.
func (u *Updater) list(ctx context.Context, tenant string) (inUse ranking.Weights, versions []version, err error) {
	// Versions are read first: a version created meanwhile is neither in the list nor in use.
	stored, err := u.Store.Versions(ctx, tenant)
	if err != nil {
		return ranking.Weights{}, nil, err
	}
	for _, one := range stored {
		if v, err := decodeVersion(one); err == nil && u.Cache.same(v.Weights) {
			versions = append(versions, v)
		}
	}
	if len(versions) == 0 {
		return u.Prior.Weights, nil, nil
	}
	return versions[0].Weights, versions, nil
}

// rollback creates a new version with the weights of an earlier one. It drops learned changes that are not yet
// applied.
func (u *Updater) rollback(ctx context.Context, tenant string, to uint64) (version, error) {
	var made version
	err := u.change(ctx, tenant, func(from tenantState) (*pendingUpdate, error) {
		w, err := u.find(ctx, tenant, to)
		if err != nil {
			return nil, err
		}
		w.Version = from.Weights.Version + 1
		made = version{Weights: w, Time: u.Now(), Learned: from.Learned, Distance: w.Distance(u.Prior.Weights),
			RolledBackTo: &to}
		fisher := from.Fisher // kept: without the known spread of the features, the next steps would be as long as the first
		if to == 0 {
			fisher = nil // everything starts again
		}
		from.State = ranking.State{Weights: w, Learned: from.Learned, Fisher: fisher}
		return &pendingUpdate{tenantState: from, versions: []version{made}}, nil
	})
	return made, err
}

// find returns the weights of a kept version for these features.
func (u *Updater) find(ctx context.Context, tenant string, number uint64) (ranking.Weights, error) {
	if number == 0 {
		return u.Prior.Weights.Clone(), nil
	}
	_, versions, err := u.list(ctx, tenant)
	if err != nil {
		return ranking.Weights{}, err
	}
	for _, v := range versions {
		if v.Weights.Version == number {
			return v.Weights, nil
		}
	}
	return ranking.Weights{}, fault.Terminal("version",
		"is %d, want 0 for the shared prior, or a kept version with the features in use", number)
}
