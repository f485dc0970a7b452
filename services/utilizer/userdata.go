package utilizer

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/wiring"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/store/transfer"
	"github.com/mneme-memory/mneme/workflows/erasure"
)

// exportPart is the approximate size of one message of an export, in bytes.
const exportPart = 256 << 10

// errWriting means that an import must wait.
var errWriting = errors.New("the user's memories are being formed: try again after a pause in the user's sessions")

// asker reads the state of erasures. erasure.Starter implements it.
type asker interface {
	Ask(ctx context.Context, scope memory.Scope, requestID string) (erasure.Status, error)
	List(ctx context.Context, tenant string) (running []erasure.Status, more bool, err error)
}

// userDataServer is the UserDataService.
type userDataServer struct {
	out       bus.Publisher
	erasures  asker
	scanner   erasure.Scanner
	transport func(context.Context) ([]wiring.TransportTopic, error)
	importer  transfer.Importer
	claims    importClaims
	// writes reports whether the user's writer is running.
	writes  func(context.Context, memory.Scope) (bool, error)
	indexes *IndexCache
	now     func() time.Time
	log     *slog.Logger
}

// EraseUser implements the RPC: it places the request among the user's events. A repeated request with the same id
// returns the existing erasure. A new erasure would remove later data, and the first report would not cover it.
func (s *userDataServer) EraseUser(
	ctx context.Context, req *connect.Request[mnemev1.EraseUserRequest],
) (*connect.Response[mnemev1.EraseUserResponse], error) {
	scope, err := scopeOf(ctx, req.Msg.GetUserId())
	if err != nil {
		return nil, rpcerror.From(err)
	}
	id := req.Msg.GetRequestId()
	if id == "" {
		id = uuid.NewString()
	} else if known, err := s.known(ctx, scope, id); err != nil || known {
		return accepted(id, err)
	}
	e := contract.SessionEvent{Envelope: contract.Envelope{EventID: id, Scope: scope}, ErasedAt: s.now()}
	value, err := e.Encode()
	if err == nil {
		err = s.out.Publish(ctx, bus.Message{Topic: contract.TopicSessionEvents, Key: e.Key(), Value: value})
	}
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "ask for erasure", err)
	}
	return accepted(id, nil)
}

func accepted(id string, err error) (*connect.Response[mnemev1.EraseUserResponse], error) {
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&mnemev1.EraseUserResponse{ErasureId: id}), nil
}

// known reports whether a request with the caller's id is running or finished. An invalid id is an error. The id of a
// cancelled erasure is an error, too, because it can never be proved.
func (s *userDataServer) known(ctx context.Context, scope memory.Scope, id string) (bool, error) {
	if err := memory.ValidText("request_id", id, memory.MaxIDBytes); err != nil {
		return false, rpcerror.From(err)
	}
	status, err := s.ask(ctx, scope, id)
	return status.State != erasure.Pending, err
}

// ask returns the status of an erasure. Its errors are for callers.
func (s *userDataServer) ask(ctx context.Context, scope memory.Scope, id string) (erasure.Status, error) {
	status, err := s.erasures.Ask(ctx, scope, id)
	if errors.Is(err, erasure.ErrEnded) {
		return status, rpcerror.Because(connect.CodeAborted, rpcerror.ReasonErasureEnded, erasure.ErrEnded)
	}
	return status, rpcerror.Logged(ctx, s.log, "ask for erasure", err)
}

// GetErasure implements the RPC.
func (s *userDataServer) GetErasure(
	ctx context.Context, req *connect.Request[mnemev1.GetErasureRequest],
) (*connect.Response[mnemev1.GetErasureResponse], error) {
	scope, err := scopeOf(ctx, req.Msg.GetUserId())
	if err == nil {
		err = memory.ValidText("erasure_id", req.Msg.GetErasureId(), memory.MaxIDBytes)
	}
	if err != nil {
		return nil, rpcerror.From(err)
	}
	status, err := s.ask(ctx, scope, req.Msg.GetErasureId())
	if err != nil {
		return nil, err
	}
	out := &mnemev1.GetErasureResponse{State: mnemev1.ErasureState_ERASURE_STATE_PENDING}
	switch status.State {
	case erasure.Running:
		out.State = mnemev1.ErasureState_ERASURE_STATE_RUNNING
		out.Rounds = uint32(status.Progress.Rounds) //nolint:gosec // a small count
		out.StartedAt, out.Remaining = timestamppb.New(status.StartedAt), remainders(status)
	case erasure.Done:
		out.State, out.DoneAt = mnemev1.ErasureState_ERASURE_STATE_DONE, timestamppb.New(status.Report.DoneAt)
		out.Rounds = uint32(status.Report.Rounds) //nolint:gosec // a small count
	}
	return connect.NewResponse(out), nil
}

func remainders(status erasure.Status) []*mnemev1.StoreRemainder {
	var out []*mnemev1.StoreRemainder
	for _, r := range status.Progress.Remaining {
		out = append(out, &mnemev1.StoreRemainder{
			Store: r.Store, Since: timestamppb.New(r.Since), Error: r.Error,
			Count: uint64(r.Count.Count), //nolint:gosec // a count
		})
	}
	return out
}

// ListErasures implements the RPC.
func (s *userDataServer) ListErasures(
	ctx context.Context, _ *connect.Request[mnemev1.ListErasuresRequest],
) (*connect.Response[mnemev1.ListErasuresResponse], error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, rpcerror.From(err)
	}
	running, more, err := s.erasures.List(ctx, t.ID)
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "list erasures", err)
	}
	out := &mnemev1.ListErasuresResponse{More: more}
	for _, e := range running {
		out.Erasures = append(out.Erasures, &mnemev1.RunningErasure{
			UserId: e.Progress.User, ErasureId: e.Progress.RequestID, StartedAt: timestamppb.New(e.StartedAt),
			Rounds: uint32(e.Progress.Rounds), Remaining: remainders(e), //nolint:gosec // a small count
		})
	}
	return connect.NewResponse(out), nil
}

// ScanUser implements the RPC.
func (s *userDataServer) ScanUser(
	ctx context.Context, req *connect.Request[mnemev1.ScanUserRequest],
) (*connect.Response[mnemev1.ScanUserResponse], error) {
	scope, err := scopeOf(ctx, req.Msg.GetUserId())
	if err != nil {
		return nil, rpcerror.From(err)
	}
	counts, err := s.scanner.Scan(ctx, scope)
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "scan user", err)
	}
	topics, err := s.transport(ctx)
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "scan topics", err)
	}
	out := &mnemev1.ScanUserResponse{}
	for _, c := range counts {
		out.Counts = append(out.Counts, &mnemev1.StoreCount{Store: c.Store, Count: uint64(c.Count)}) //nolint:gosec // counts
	}
	for _, t := range topics {
		out.Transport = append(out.Transport, &mnemev1.TransportTopic{Topic: t.Name, Texts: t.Texts,
			RetentionMs: t.RetentionMs})
	}
	return connect.NewResponse(out), nil
}

// ExportUser implements the RPC.
func (s *userDataServer) ExportUser(
	ctx context.Context, req *connect.Request[mnemev1.ExportUserRequest],
	stream *connect.ServerStream[mnemev1.ExportUserResponse],
) error {
	scope, err := scopeOf(ctx, req.Msg.GetUserId())
	if err != nil {
		return rpcerror.From(err)
	}
	out := &parts{send: func(data []byte) error { return stream.Send(&mnemev1.ExportUserResponse{Data: data}) }}
	embedder := s.importer.Embedder
	err = transfer.Export(ctx, s.importer.Bank, scope, embedder.Model(), embedder.Dimension(), out)
	if err == nil {
		err = out.flush()
	}
	if errors.Is(err, transfer.ErrChanged) {
		return rpcerror.Because(connect.CodeAborted, rpcerror.ReasonChanged, transfer.ErrChanged)
	}
	return rpcerror.Logged(ctx, s.log, "export user", err)
}

// parts buffers writes up to the size of a message.
type parts struct {
	send func([]byte) error
	kept []byte
}

var _ io.Writer = (*parts)(nil)

// Write implements io.Writer.
func (p *parts) Write(data []byte) (int, error) {
	p.kept = append(p.kept, data...)
	if len(p.kept) < exportPart {
		return len(data), nil
	}
	return len(data), p.flush()
}

func (p *parts) flush() error {
	if len(p.kept) == 0 {
		return nil
	}
	err := p.send(p.kept)
	p.kept = p.kept[:0]
	return err
}

// ImportUser implements the RPC. It bypasses the user's writer, so it refuses to run in parallel with it.
func (s *userDataServer) ImportUser(
	ctx context.Context, req *connect.Request[mnemev1.ImportUserRequest],
) (*connect.Response[mnemev1.ImportUserResponse], error) {
	scope, err := scopeOf(ctx, req.Msg.GetUserId())
	if err == nil {
		err = memory.ValidNewUser(scope.User)
	}
	if err != nil {
		return nil, rpcerror.From(err)
	}
	header, err := transfer.ParseHeader([]byte(req.Msg.GetHeader()))
	if err != nil {
		return nil, rpcerror.From(err)
	}
	busy, err := s.writes(ctx, scope)
	if err != nil {
		return nil, rpcerror.Logged(ctx, s.log, "look up writer", err)
	}
	if busy {
		return nil, rpcerror.Because(connect.CodeFailedPrecondition, rpcerror.ReasonForming, errWriting)
	}
	first, before := int(req.Msg.GetFirstLine()), countsFrom(req.Msg.GetSoFar()) //nolint:gosec // a line's number
	now, anew, err := s.importPage(ctx, scope, func(within context.Context) (bank.Counts, bool, error) {
		return s.importer.Page(within, scope, header, req.Msg.GetLines(), first, before)
	})
	switch {
	case errors.Is(err, transfer.ErrNotEmpty):
		return nil, rpcerror.Because(connect.CodeFailedPrecondition, rpcerror.ReasonNotEmpty, err)
	case errors.Is(err, transfer.ErrOutOfStep):
		return nil, rpcerror.Because(connect.CodeFailedPrecondition, rpcerror.ReasonOutOfStep, err)
	case errors.Is(err, errImporting):
		return nil, rpcerror.Because(connect.CodeFailedPrecondition, rpcerror.ReasonImporting, err)
	case err != nil:
		return nil, rpcerror.Logged(ctx, s.log, "import user", err)
	}
	return connect.NewResponse(&mnemev1.ImportUserResponse{SoFar: countsTo(now), EmbeddedAnew: anew,
		Complete: now == header.Counts}), nil
}

// importPage imports a page while no other import into the bank runs.
func (s *userDataServer) importPage(
	ctx context.Context, scope memory.Scope, page func(context.Context) (bank.Counts, bool, error),
) (now bank.Counts, anew bool, err error) {
	within, cancel := context.WithTimeout(ctx, importLease)
	defer cancel()
	free, err := s.claims.claim(within, scope)
	if err != nil {
		return now, false, err
	}
	defer func() {
		if err := free(); err != nil { // the page is stored; the claim ends with its lease
			s.log.WarnContext(ctx, "import user", "error", err)
		}
	}()
	defer s.indexes.Drop(scope)
	return page(within)
}

func countsFrom(c *mnemev1.BankCounts) bank.Counts {
	return bank.Counts{ //nolint:gosec // counts
		Memories: int(c.GetMemories()), Turns: int(c.GetTurns()), Sessions: int(c.GetSessions()), Core: int(c.GetCore()),
	}
}

func countsTo(c bank.Counts) *mnemev1.BankCounts {
	return &mnemev1.BankCounts{ //nolint:gosec // counts
		Memories: uint64(c.Memories), Turns: uint64(c.Turns), Sessions: uint64(c.Sessions), Core: uint64(c.Core),
	}
}
