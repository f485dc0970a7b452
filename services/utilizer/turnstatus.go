package utilizer

import (
	"context"
	"slices"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/diagnosis"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
)

// maxTurnIDs is the maximum number of turns per request; part of the contract in proto/.
const maxTurnIDs = 200

// GetTurns implements the RPC.
func (s *memoryServer) GetTurns(
	ctx context.Context, req *connect.Request[mnemev1.GetTurnsRequest],
) (*connect.Response[mnemev1.GetTurnsResponse], error) {
	scope, err := scopeOf(ctx, req.Msg.GetUserId())
	if err != nil {
		return nil, rpcerror.From(err)
	}
	ids := req.Msg.GetTurnIds()
	if len(ids) == 0 || len(ids) > maxTurnIDs {
		return nil, rpcerror.From(fault.Terminal("turn_ids", "has %d ids, want 1 to %d", len(ids), maxTurnIDs))
	}
	for _, id := range ids {
		if err := memory.ValidText("turn_ids", id, memory.MaxIDBytes); err != nil {
			return nil, rpcerror.From(err)
		}
	}
	states, err := turnStates(ctx, s.bank, scope, ids, nil)
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "get turns", err)
	}
	made, err := madeOf(ctx, s.bank, scope, ids)
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "get memories of turns", err)
	}
	out := &mnemev1.GetTurnsResponse{}
	for _, t := range states {
		out.Turns = append(out.Turns, turnStatus(t, made))
	}
	return connect.NewResponse(out), nil
}

// turnStatus returns the status of a turn. made has entries of this turn and of others.
func turnStatus(t diagnosis.Turn, made []memory.Memory) *mnemev1.TurnStatus {
	out := &mnemev1.TurnStatus{TurnId: t.ID, State: mnemev1.TurnState_TURN_STATE_PENDING}
	for _, m := range made {
		switch {
		case !slices.Contains(m.Sources, t.ID):
		case m.Tier == memory.TierTalk:
			out.TalkIds = append(out.TalkIds, m.ID)
		default:
			out.MemoryIds = append(out.MemoryIds, m.ID)
		}
	}
	switch {
	case len(out.MemoryIds) > 0:
		out.State = mnemev1.TurnState_TURN_STATE_REMEMBERED
	case t.Kept, len(out.TalkIds) > 0:
		out.State = mnemev1.TurnState_TURN_STATE_KEPT
	case t.Dropped != nil:
		out.State = mnemev1.TurnState_TURN_STATE_DROPPED
		out.Saliency = contract.SaliencyToProto(memory.SaliencyDecision{
			Score: t.Dropped.Score, Threshold: t.Dropped.Threshold, PolicyVersion: t.Dropped.PolicyVersion,
		})
		return out
	}
	if t.Kept {
		out.Saliency = contract.SaliencyToProto(t.Saliency)
	}
	return out
}
