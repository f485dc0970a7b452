package upstream

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
)

// ErasureNotes stores the accepted erasures. A note separates a running erasure from an unknown one.
// *idempotency.Store implements it.
type ErasureNotes interface {
	// NoteErasure notes that an erasure of a user was accepted.
	NoteErasure(ctx context.Context, scope memory.Scope, id string) error
}

// Noting returns the services with an erasure that is noted as accepted, from every door. If the note fails, the
// caller must repeat the request.
func (s Services) Noting(notes ErasureNotes) Services {
	s.UserData = noting{s.UserData, notes}
	return s
}

type noting struct {
	mnemev1connect.UserDataServiceClient
	notes ErasureNotes
}

// EraseUser implements the RPC.
func (n noting) EraseUser(
	ctx context.Context, req *connect.Request[mnemev1.EraseUserRequest],
) (*connect.Response[mnemev1.EraseUserResponse], error) {
	res, err := n.UserDataServiceClient.EraseUser(ctx, req)
	if err != nil {
		return nil, err
	}
	p, _ := access.FromContext(ctx) // the call was let through
	scope := memory.Scope{Tenant: p.Tenant.ID, User: req.Msg.GetUserId()}
	if err := n.notes.NoteErasure(ctx, scope, res.Msg.GetErasureId()); err != nil {
		return nil, connect.NewError(connect.CodeUnavailable,
			errors.New("the erasure is accepted, but its id was not stored: request the erasure again"))
	}
	return res, nil
}
