package utilizer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/window"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

const (
	defaultPage, maxPage = 100, 1000
	// retractWait is how long DeleteMemory and other write requests wait for the user's writer.
	retractWait = 10 * time.Second
	// queryWait is how long GetSession waits. The writer answers at once if a worker runs.
	queryWait = 5 * time.Second
)

// Writer is the users' writer. consolidation.Starter implements it.
type Writer interface {
	// Retract returns nil after an entry is retracted or released. It returns a terminal error for a refusal, and
	// consolidation.ErrPending at the timeout.
	Retract(ctx context.Context, p consolidation.Params, in consolidation.Retraction) error
	// Edit returns the same errors for an entry with a caller's text.
	Edit(ctx context.Context, p consolidation.Params, in consolidation.Edit) error
	// Waits reports whether turns of a session wait for consolidation.
	Waits(ctx context.Context, scope memory.Scope, sessionID string) (bool, error)
}

// memoryServer is the MemoryService. Reads use the stores. Writes use the user's workflow, which is the only writer.
type memoryServer struct {
	bank    bank.Bank
	window  window.Window
	writer  Writer
	indexes *IndexCache
	log     *slog.Logger
}

// ListMemories implements the RPC.
func (s *memoryServer) ListMemories(
	ctx context.Context, req *connect.Request[mnemev1.ListMemoriesRequest],
) (*connect.Response[mnemev1.ListMemoriesResponse], error) {
	scope, err := scopeOf(ctx, req.Msg.GetUserId())
	if err != nil {
		return nil, rpcerror.From(err)
	}
	o := bank.ListOptions{Token: req.Msg.GetPageToken()}
	if o.Limit, err = number("page_size", req.Msg.GetPageSize(), defaultPage, 1, maxPage); err != nil {
		return nil, rpcerror.From(err)
	}
	if o.Filter, err = contract.FilterFrom(req.Msg.GetFilter()); err != nil {
		return nil, rpcerror.From(err)
	}
	for _, st := range req.Msg.GetStatuses() {
		status := contract.StatusFrom(st)
		if status == "" {
			return nil, rpcerror.From(fault.Terminal("statuses", "has %d, want a state of memories", st))
		}
		o.Statuses = append(o.Statuses, status)
	}
	if o.Tiers, err = tiersOf(req.Msg.GetTiers()); err != nil {
		return nil, rpcerror.From(err)
	}
	page, err := s.bank.List(ctx, scope, o)
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "list memories", err)
	}
	out := &mnemev1.ListMemoriesResponse{Memories: protos(page.Memories), NextPageToken: page.Next}
	if req.Msg.GetWithTotal() {
		n, err := s.bank.CountListed(ctx, scope, o)
		if err != nil {
			return nil, rpcerror.Logged(ctx, s.log, "count listed memories", err)
		}
		out.Total = uint64(n) //nolint:gosec // a count
	}
	return connect.NewResponse(out), nil
}

// tiersOf reads the tiers of a request. An empty list means memories.
func tiersOf(asked []mnemev1.Tier) ([]memory.Tier, error) {
	if len(asked) == 0 {
		return []memory.Tier{memory.TierMemory}, nil
	}
	out := make([]memory.Tier, len(asked))
	for i, p := range asked {
		tier, ok := contract.TierFrom(p)
		if !ok {
			return nil, fault.Terminal("tiers", "has %d, want a tier of entries", p)
		}
		out[i] = tier
	}
	return out, nil
}

// CountMemories implements the RPC.
func (s *memoryServer) CountMemories(
	ctx context.Context, _ *connect.Request[mnemev1.CountMemoriesRequest],
) (*connect.Response[mnemev1.CountMemoriesResponse], error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, rpcerror.From(err)
	}
	n, err := s.bank.CountMemories(ctx, t.ID)
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "count memories", err)
	}
	return connect.NewResponse(&mnemev1.CountMemoriesResponse{Memories: int64(n)}), nil
}

// GetMemory implements the RPC.
func (s *memoryServer) GetMemory(
	ctx context.Context, req *connect.Request[mnemev1.GetMemoryRequest],
) (*connect.Response[mnemev1.GetMemoryResponse], error) {
	scope, id, err := entryOf(ctx, req.Msg)
	if err != nil {
		return nil, rpcerror.From(err)
	}
	m, err := s.bank.Get(ctx, scope, id)
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "get memory", err)
	}
	turns, err := s.bank.Turns(ctx, scope, m.Sources)
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "get source turns", err)
	}
	return connect.NewResponse(&mnemev1.GetMemoryResponse{Memory: contract.MemoryToProto(m), Sources: turnProtos(turns)}),
		nil
}

// GetMemoryHistory implements the RPC. Without a user it looks up the owner of the entry.
func (s *memoryServer) GetMemoryHistory(
	ctx context.Context, req *connect.Request[mnemev1.GetMemoryHistoryRequest],
) (*connect.Response[mnemev1.GetMemoryHistoryResponse], error) {
	scope, id, err := s.ownedEntry(ctx, req.Msg)
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "find memory", err)
	}
	versions, err := s.bank.History(ctx, scope, id)
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "get history", err)
	}
	return connect.NewResponse(&mnemev1.GetMemoryHistoryResponse{Versions: protos(versions), UserId: scope.User}), nil
}

// DeleteMemory implements the RPC: the user's workflow retracts the entry, and the call waits for the end. Deleting a
// retracted entry succeeds. Deleting a superseded entry is refused, because it is history.
func (s *memoryServer) DeleteMemory(
	ctx context.Context, req *connect.Request[mnemev1.DeleteMemoryRequest],
) (*connect.Response[mnemev1.DeleteMemoryResponse], error) {
	scope, id, err := entryOf(ctx, req.Msg)
	if err != nil {
		return nil, rpcerror.From(err)
	}
	m, err := s.bank.Get(ctx, scope, id)
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "get memory", err)
	}
	if m.Status == memory.StatusSuperseded {
		return nil, rpcerror.Because(connect.CodeFailedPrecondition, rpcerror.ReasonSuperseded,
			errors.New("the memory is superseded: delete its newer version, or erase the user"))
	}
	if m.Status.Open() {
		if m, err = s.change(ctx, scope, consolidation.Retraction{MemoryID: m.ID}); err != nil {
			return nil, rpcerror.Logged(ctx, s.log, "retract memory", err)
		}
	}
	return connect.NewResponse(&mnemev1.DeleteMemoryResponse{Memory: contract.MemoryToProto(m)}), nil
}

// ReleaseMemory implements the RPC: the user's workflow ends the entry's quarantine, and the call waits for the end.
func (s *memoryServer) ReleaseMemory(
	ctx context.Context, req *connect.Request[mnemev1.ReleaseMemoryRequest],
) (*connect.Response[mnemev1.ReleaseMemoryResponse], error) {
	scope, id, err := entryOf(ctx, req.Msg)
	if err != nil {
		return nil, rpcerror.From(err)
	}
	m, err := s.bank.Get(ctx, scope, id)
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "get memory", err)
	}
	if m.Status == memory.StatusRetracted {
		return nil, rpcerror.Because(connect.CodeFailedPrecondition, rpcerror.ReasonRetracted,
			errors.New("the memory is retracted: it cannot be released any more"))
	}
	if m.Status == memory.StatusQuarantined {
		if m, err = s.change(ctx, scope, consolidation.Retraction{MemoryID: m.ID, Release: true}); err != nil {
			return nil, rpcerror.Logged(ctx, s.log, "release memory", err)
		}
	}
	return connect.NewResponse(&mnemev1.ReleaseMemoryResponse{Memory: contract.MemoryToProto(m)}), nil
}

// change asks the user's writer to retract or release an entry, and returns the changed entry.
func (s *memoryServer) change(
	ctx context.Context, scope memory.Scope, in consolidation.Retraction,
) (memory.Memory, error) {
	what := "deletion"
	if in.Release {
		what = "release"
	}
	return s.write(ctx, scope, what, in.MemoryID, "", func(ctx context.Context, p consolidation.Params, id string) error {
		in.ID, in.Strategy, in.TraceParent = id, p.Strategy, consolidation.TraceParent(ctx)
		return s.writer.Retract(ctx, p, in)
	})
}

// write sends a request with a new id to the user's writer and waits for the end. It returns the changed entry. what
// names the request in errors for the caller. was is the previous state of an entry that gets a new version.
func (s *memoryServer) write(
	ctx context.Context, scope memory.Scope, what, memoryID string, was memory.Status,
	ask func(context.Context, consolidation.Params, string) error,
) (memory.Memory, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return memory.Memory{}, err
	}
	waiting, cancel := context.WithTimeout(ctx, retractWait)
	defer cancel()
	p := consolidation.Params{Scope: scope, Strategy: string(t.Strategy), Policy: string(t.Policy), TalkDays: t.TalkDays}
	err = ask(waiting, p, uuid.NewString())
	switch {
	case errors.Is(err, consolidation.ErrPending):
		return memory.Memory{}, connect.NewError(connect.CodeUnavailable,
			fmt.Errorf("the %s is accepted, but not done yet: repeat it later to see its result", what))
	case fault.IsTerminal(err):
		return memory.Memory{}, rpcerror.Because(connect.CodeFailedPrecondition, refusal(err, was),
			fmt.Errorf("the %s is refused: %w", what, err))
	case err != nil:
		return memory.Memory{}, err
	}
	s.indexes.Drop(scope) // the announcement may still be on its way
	return s.bank.Get(ctx, scope, memoryID)
}

// refusal converts a refusal of the writer to an error with a reason. was is the entry's status before the request.
func refusal(err error, was memory.Status) string {
	switch {
	case strings.HasPrefix(err.Error(), "turn.turn_id: "):
		return rpcerror.ReasonTurnUsed
	case was == memory.StatusSuperseded:
		return rpcerror.ReasonSuperseded
	case was == memory.StatusRetracted:
		return rpcerror.ReasonRetracted
	case was == memory.StatusQuarantined:
		return rpcerror.ReasonQuarantined
	}
	return rpcerror.ReasonRefused
}

// GetCore implements the RPC.
func (s *memoryServer) GetCore(
	ctx context.Context, req *connect.Request[mnemev1.GetCoreRequest],
) (*connect.Response[mnemev1.GetCoreResponse], error) {
	scope, err := scopeOf(ctx, req.Msg.GetUserId())
	if err != nil {
		return nil, rpcerror.From(err)
	}
	core, err := s.bank.Core(ctx, scope)
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "read core block", err)
	}
	return connect.NewResponse(&mnemev1.GetCoreResponse{Core: contract.CoreToProto(stillHolding(core, time.Now()))}), nil
}

// GetWorkingMemory implements the RPC.
func (s *memoryServer) GetWorkingMemory(
	ctx context.Context, req *connect.Request[mnemev1.GetWorkingMemoryRequest],
) (*connect.Response[mnemev1.GetWorkingMemoryResponse], error) {
	scope, err := scopeOf(ctx, req.Msg.GetUserId())
	if err != nil {
		return nil, rpcerror.From(err)
	}
	turns, err := s.window.Recent(ctx, scope, time.Now())
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "read window", err)
	}
	return connect.NewResponse(&mnemev1.GetWorkingMemoryResponse{Turns: turnProtos(turns)}), nil
}

// GetSession implements the RPC.
func (s *memoryServer) GetSession(
	ctx context.Context, req *connect.Request[mnemev1.GetSessionRequest],
) (*connect.Response[mnemev1.GetSessionResponse], error) {
	scope, err := scopeOf(ctx, req.Msg.GetUserId())
	if err != nil {
		return nil, rpcerror.From(err)
	}
	if err := memory.ValidText("session_id", req.Msg.GetSessionId(), memory.MaxIDBytes); err != nil {
		return nil, rpcerror.From(err)
	}
	r, ok, err := s.bank.Session(ctx, scope, req.Msg.GetSessionId())
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "get session", err)
	}
	out := &mnemev1.GetSessionResponse{State: mnemev1.FormationState_FORMATION_STATE_PENDING}
	if ok {
		out.Turns, out.Operations = uint32(r.Turns), uint32(r.Operations) //nolint:gosec // counts
		out.FormedAt = timestamppb.New(r.FormedAt)
	}
	if r.Closed {
		// A turn may come after the session's end.
		waits, err := s.waits(ctx, scope, r.SessionID)
		if err != nil {
			return nil, rpcerror.Logged(ctx, s.log, "look for late turns", err)
		}
		if !waits {
			out.State = mnemev1.FormationState_FORMATION_STATE_FORMED
		}
	}
	return connect.NewResponse(out), nil
}

// waits asks the user's writer, because only the writer knows its unread events.
func (s *memoryServer) waits(ctx context.Context, scope memory.Scope, sessionID string) (bool, error) {
	asking, cancel := context.WithTimeout(ctx, queryWait)
	defer cancel()
	waits, err := s.writer.Waits(asking, scope, sessionID)
	if err != nil && asking.Err() != nil && ctx.Err() == nil {
		return false, fmt.Errorf("%w: %v", fault.ErrUnavailable, err) //nolint:errorlint // the caller has not run out of time
	}
	return waits, err
}

// entryRequest is a request that names an entry.
type entryRequest interface {
	GetUserId() string
	GetMemoryId() string
}

// entryOf checks a request that names an entry, and returns the entry's id in its stored form.
func entryOf(ctx context.Context, req entryRequest) (scope memory.Scope, id string, err error) {
	if scope, err = scopeOf(ctx, req.GetUserId()); err != nil {
		return scope, "", err
	}
	id = memory.CanonicalID(req.GetMemoryId())
	return scope, id, memory.ValidID("memory_id", id)
}

// ownedEntry is entryOf for a request with an optional user.
func (s *memoryServer) ownedEntry(ctx context.Context, req entryRequest) (scope memory.Scope, id string, err error) {
	if req.GetUserId() != "" {
		return entryOf(ctx, req)
	}
	t, err := tenantOf(ctx)
	if err != nil {
		return scope, "", err
	}
	id = memory.CanonicalID(req.GetMemoryId())
	if err := memory.ValidID("memory_id", id); err != nil {
		return scope, "", err
	}
	user, err := s.bank.Owner(ctx, t.ID, id)
	if errors.Is(err, bank.ErrSeveralOwners) {
		return scope, "", fault.Terminal("user_id", "is not set, but several users have the memory: name one user")
	}
	return memory.Scope{Tenant: t.ID, User: user}, id, err
}

func protos(ms []memory.Memory) []*mnemev1.Memory {
	return converted(ms, contract.MemoryToProto)
}

func turnProtos(ts []memory.Turn) []*mnemev1.Turn {
	return converted(ts, contract.TurnToProto)
}
