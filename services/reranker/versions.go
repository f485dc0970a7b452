package reranker

import (
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
	"github.com/mneme-memory/mneme/shared/ranking"
)

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
