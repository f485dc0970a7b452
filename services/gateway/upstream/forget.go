package upstream

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/gateway/idempotency"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Forgetter keeps something of users in the gateway itself.
type Forgetter interface {
	// Name says what is kept, in the plural.
	Name() string
	// Kept counts what Forget removes.
	Kept(ctx context.Context, scope memory.Scope) (int64, error)
	// Forget removes what is kept of a user. An error says that some of it may be left.
	Forget(ctx context.Context, scope memory.Scope) error
}

// Forgetting are the services with an erasure that, over whatever door it is asked for, also forgets what the gateway itself keeps of the
// user, and is then noted as accepted; and with a scan that counts that, too. Where forgetting fails after the services have accepted the
// erasure, the caller is told that it is to be asked for again.
func (s Services) Forgetting(accepted Accepted, stores ...Forgetter) Services {
	s.UserData = forgetting{s.UserData, accepted, stores}
	return s
}

type forgetting struct {
	mnemev1connect.UserDataServiceClient
	accepted Accepted
	stores   []Forgetter
}

// EraseUser implements the RPC.
func (f forgetting) EraseUser(
	ctx context.Context, req *connect.Request[mnemev1.EraseUserRequest],
) (*connect.Response[mnemev1.EraseUserResponse], error) {
	res, err := f.UserDataServiceClient.EraseUser(ctx, req)
	if err != nil {
		return nil, err
	}
	p, _ := access.FromContext(ctx) // the call was let through
	scope := memory.Scope{Tenant: p.Tenant.ID, User: req.Msg.GetUserId()}
	var failed []error
	for _, store := range f.stores {
		failed = append(failed, store.Forget(ctx, scope))
	}
	failed = append(failed, f.accepted.Note(ctx, scope, idempotency.Erasure, res.Msg.GetErasureId()))
	if errors.Join(failed...) != nil {
		return nil, connect.NewError(connect.CodeUnavailable,
			errors.New("the erasure is accepted, but not all that is kept beside memories could be removed: ask for it again"))
	}
	return res, nil
}

// ScanUser implements the RPC.
func (f forgetting) ScanUser(
	ctx context.Context, req *connect.Request[mnemev1.ScanUserRequest],
) (*connect.Response[mnemev1.ScanUserResponse], error) {
	res, err := f.UserDataServiceClient.ScanUser(ctx, req)
	if err != nil {
		return nil, err
	}
	p, _ := access.FromContext(ctx) // the call was let through
	scope := memory.Scope{Tenant: p.Tenant.ID, User: req.Msg.GetUserId()}
	for _, store := range f.stores {
		n, err := store.Kept(ctx, scope)
		if err != nil {
			return nil, connect.NewError(connect.CodeUnavailable, errors.New(store.Name()+" cannot be counted at the moment"))
		}
		res.Msg.Counts = append(res.Msg.Counts, &mnemev1.StoreCount{Store: store.Name(), Count: uint64(n)}) //nolint:gosec // a count
	}
	return res, nil
}
