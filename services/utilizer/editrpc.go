package utilizer

import (
	"context"
	"time"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// AddMemory implements the RPC: the user's workflow writes the entry, and the call waits for the end. An entry that
// looks like an attack on the memory goes into quarantine, as a turn does.
func (s *memoryServer) AddMemory(
	ctx context.Context, req *connect.Request[mnemev1.AddMemoryRequest],
) (*connect.Response[mnemev1.AddMemoryResponse], error) {
	scope, err := scopeOf(ctx, req.Msg.GetUserId())
	if err == nil {
		err = memory.ValidNewUser(scope.User)
	}
	if err != nil {
		return nil, rpcerror.From(err)
	}
	in, err := additionFrom(req.Msg, time.Now())
	if err != nil {
		return nil, rpcerror.From(err)
	}
	m, err := s.edit(ctx, scope, "addition", "", in)
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "add memory", err)
	}
	return connect.NewResponse(&mnemev1.AddMemoryResponse{Memory: contract.MemoryToProto(m)}), nil
}

// UpdateMemory implements the RPC: the user's workflow writes the new version, and the call waits for the end. The
// writer checks that the entry holds, because only the writer detects a repeated request. The turn belongs to the
// entry's session.
func (s *memoryServer) UpdateMemory(
	ctx context.Context, req *connect.Request[mnemev1.UpdateMemoryRequest],
) (*connect.Response[mnemev1.UpdateMemoryResponse], error) {
	scope, id, err := entryOf(ctx, req.Msg)
	if err != nil {
		return nil, rpcerror.From(err)
	}
	turn, err := contract.TurnFrom(req.Msg.GetTurn(), "", time.Now())
	if err != nil {
		return nil, rpcerror.From(err)
	}
	m, err := s.bank.Get(ctx, scope, id)
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "get memory", err)
	}
	turn.SessionID = m.SessionID
	next, err := s.edit(ctx, scope, "update", m.Status, consolidation.Edit{MemoryID: m.ID, Turn: turn})
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "update memory", err)
	}
	return connect.NewResponse(&mnemev1.UpdateMemoryResponse{Memory: contract.MemoryToProto(next)}), nil
}

// additionFrom checks a request to add an entry.
func additionFrom(req *mnemev1.AddMemoryRequest, now time.Time) (in consolidation.Edit, err error) {
	if err := memory.ValidNewID("session_id", req.GetSessionId(), memory.MaxIDBytes); err != nil {
		return in, err
	}
	if in.Turn, err = contract.TurnFrom(req.GetTurn(), req.GetSessionId(), now); err != nil {
		return in, err
	}
	if in.Turn.AliasOf != "" {
		return in, fault.Terminal("turn.alias_of", "is set, want it only in UpdateMemory")
	}
	in.Kind = memory.KindFact
	if k := req.GetKind(); k != mnemev1.Kind_KIND_UNSPECIFIED {
		if in.Kind = contract.KindFrom(k); in.Kind == "" {
			return in, fault.Terminal("kind", "is %d, want a kind of memories, or none for a fact", k)
		}
	}
	return in, nil
}

// edit asks the user's writer to write an entry, and returns the written entry. what names the request in errors for
// the caller.
func (s *memoryServer) edit(
	ctx context.Context, scope memory.Scope, what string, was memory.Status, in consolidation.Edit,
) (memory.Memory, error) {
	return s.write(ctx, scope, what, in.EntryID(scope), was,
		func(ctx context.Context, p consolidation.Params, id string) error {
			in.ID, in.Strategy, in.TraceParent = id, p.Strategy, consolidation.TraceParent(ctx)
			return s.writer.Edit(ctx, p, in)
		})
}
