package mem0_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/bus"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

// bank is the stored data of a user.
type bank struct {
	memories []*mnemev1.Memory
	turns    map[string]*mnemev1.Turn
	// waiting are the turns that no memories are formed of yet, by session.
	waiting map[string][]string
}

// mneme is a fake of everything behind the gateway. It stores the published events. When a session is closed, it
// forms one memory, unchanged, from every user turn in the session. It has no language understanding: a memory
// matches a query if they share words.
type mneme struct {
	mnemev1connect.UnimplementedUtilizerServiceHandler
	mnemev1connect.UnimplementedMemoryServiceHandler
	mnemev1connect.UnimplementedUserDataServiceHandler

	mu      sync.Mutex
	now     func() time.Time
	banks   map[memory.Scope]*bank
	events  []contract.SessionEvent
	erased  []memory.Scope
	asked   []proto.Message
	recalls int
	// listed counts the memories that were read by lists.
	listed int
	// failing holds the procedures that fail. refusing is the error of a failed publish.
	failing  map[string]error
	refusing error
}

func newMneme(now func() time.Time) *mneme {
	return &mneme{now: now, banks: map[memory.Scope]*bank{}, failing: map[string]error{}}
}

// handler serves the RPCs.
func (m *mneme) handler() http.Handler {
	mux := http.NewServeMux()
	watch := connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			m.mu.Lock()
			err := m.failing[req.Spec().Procedure]
			if msg, ok := req.Any().(proto.Message); ok {
				m.asked = append(m.asked, msg)
			}
			m.mu.Unlock()
			if req.Header().Get("Authorization") != "Bearer "+secret {
				err = connect.NewError(connect.CodeUnauthenticated, errors.New("no secret"))
			}
			if err != nil {
				return nil, err
			}
			return next(ctx, req)
		}
	}))
	mux.Handle(mnemev1connect.NewUtilizerServiceHandler(m, watch))
	mux.Handle(mnemev1connect.NewMemoryServiceHandler(m, watch))
	mux.Handle(mnemev1connect.NewUserDataServiceHandler(m, watch))
	return mux
}

// Publish stores the messages for Kafka.
func (m *mneme) Publish(_ context.Context, msgs ...bus.Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refusing != nil {
		return m.refusing
	}
	for _, msg := range msgs {
		e, err := contract.DecodeSessionEvent(msg.Key, msg.Value, m.now())
		if err != nil {
			return err
		}
		m.events = append(m.events, e)
		if b := m.bank(e.Scope); e.Turn != nil {
			b.turns[e.Turn.ID] = contract.TurnToProto(*e.Turn)
			b.waiting[e.SessionID] = append(b.waiting[e.SessionID], e.Turn.ID)
		}
	}
	return nil
}

// Close implements bus.Publisher.
func (*mneme) Close() error { return nil }

func (m *mneme) bank(scope memory.Scope) *bank {
	b := m.banks[scope]
	if b == nil {
		b = &bank{turns: map[string]*mnemev1.Turn{}, waiting: map[string][]string{}}
		m.banks[scope] = b
	}
	return b
}

// form makes memories from the waiting turns of a session.
func (m *mneme) form(scope memory.Scope, session string) {
	b := m.bank(scope)
	for _, id := range b.waiting[session] {
		if t := b.turns[id]; t.GetRole() == mnemev1.Role_ROLE_USER {
			m.write(scope, session, t, nil)
		}
	}
	delete(b.waiting, session)
}

// write writes a memory of a turn, in the place of others.
func (m *mneme) write(scope memory.Scope, session string, t *mnemev1.Turn, before *mnemev1.Memory) *mnemev1.Memory {
	b := m.bank(scope)
	out := &mnemev1.Memory{
		Id: memory.DeriveID(scope, []string{t.GetTurnId()}, 0), Kind: mnemev1.Kind_KIND_FACT, Content: t.GetText(),
		Topic:    "life",
		Keywords: strings.Fields(strings.ToLower(t.GetText())), RecordedAt: timestamppb.New(m.now()), ValidFrom: t.GetTime(),
		Status: mnemev1.Status_STATUS_ACTIVE, Version: 1, SourceTurnIds: []string{t.GetTurnId()}, SessionId: session,
	}
	for _, known := range b.memories {
		if known.GetId() == out.GetId() {
			return known
		}
	}
	if t.GetRole() == mnemev1.Role_ROLE_USER {
		out.Speaker = t.GetSpeaker()
	}
	attribute(out, t, before)
	if before != nil {
		out.Version, out.PredecessorIds = before.GetVersion()+1, []string{before.GetId()}
		before.Status, before.ValidTo = mnemev1.Status_STATUS_SUPERSEDED, t.GetTime()
	}
	b.turns[t.GetTurnId()] = t
	b.memories = append(b.memories, out)
	return out
}

// attribute sets a turn's attributes on a memory, on top of the previous memory's attributes.
func attribute(out *mnemev1.Memory, t *mnemev1.Turn, before *mnemev1.Memory) {
	out.AgentId, out.AppId = cmp.Or(t.GetAgentId(), before.GetAgentId()), cmp.Or(t.GetAppId(), before.GetAppId())
	out.RunId, out.AliasOf = cmp.Or(t.GetRunId(), before.GetRunId()), cmp.Or(t.GetAliasOf(), before.GetAliasOf())
	metadata := before.GetMetadata().AsMap()
	maps.Copy(metadata, t.GetMetadata().AsMap())
	maps.DeleteFunc(metadata, func(_ string, v any) bool { return v == nil })
	out.Metadata, _ = structpb.NewStruct(metadata) // of a struct
}

// matcher is a filter as the bank evaluates it.
func matcher(p *mnemev1.Filter) (func(*mnemev1.Memory) bool, error) {
	filter, err := contract.FilterFrom(p)
	if err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	return func(k *mnemev1.Memory) bool { return filter.IsZero() || filter.Match(entryOf(k)) }, nil
}

// entryOf is a memory as filters see it.
func entryOf(k *mnemev1.Memory) memory.Memory {
	return memory.Memory{
		ID: k.GetId(), Kind: memory.Kind(strings.ToLower(strings.TrimPrefix(k.GetKind().String(), "KIND_"))),
		Topic:    k.GetTopic(),
		Keywords: k.GetKeywords(), Speaker: k.GetSpeaker(), SessionID: k.GetSessionId(),
		RecordedAt: k.GetRecordedAt().AsTime(), ValidFrom: k.GetValidFrom().AsTime(),
		Attributes: memory.Attributes{
			Metadata: k.GetMetadata().AsMap(), AgentID: k.GetAgentId(), AppID: k.GetAppId(), RunID: k.GetRunId(),
			AliasOf: k.GetAliasOf(),
		},
	}
}

// scope returns the scope of a request.
func scope(h http.Header, user string) memory.Scope {
	return memory.Scope{Tenant: h.Get("Mneme-Tenant"), User: user}
}

var errNoMemory = connect.NewError(connect.CodeNotFound, errors.New("memory not found"))

// of returns a memory of a user.
func (m *mneme) of(s memory.Scope, id string) (*mnemev1.Memory, error) {
	if b := m.banks[s]; b != nil {
		for _, k := range b.memories {
			if k.GetId() == id {
				return k, nil
			}
		}
	}
	return nil, errNoMemory
}

func (m *mneme) AddMemory(
	_ context.Context, r *connect.Request[mnemev1.AddMemoryRequest],
) (*connect.Response[mnemev1.AddMemoryResponse], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Msg.GetTurn().GetText() == "unwritable" {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("the addition is accepted, but not done yet"))
	}
	made := m.write(scope(r.Header(), r.Msg.GetUserId()), r.Msg.GetSessionId(), r.Msg.GetTurn(), nil)
	return connect.NewResponse(&mnemev1.AddMemoryResponse{Memory: made}), nil
}

func (m *mneme) UpdateMemory(
	_ context.Context, r *connect.Request[mnemev1.UpdateMemoryRequest],
) (*connect.Response[mnemev1.UpdateMemoryResponse], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := scope(r.Header(), r.Msg.GetUserId())
	before, err := m.of(s, r.Msg.GetMemoryId())
	if err != nil {
		return nil, err
	}
	if before.GetStatus() != mnemev1.Status_STATUS_ACTIVE {
		return nil, connect.NewError(connect.CodeFailedPrecondition, errors.New("the update is refused: it does not hold"))
	}
	return connect.NewResponse(&mnemev1.UpdateMemoryResponse{Memory: m.write(s, before.GetSessionId(), r.Msg.GetTurn(),
		before)}), nil
}

func (m *mneme) DeleteMemory(
	_ context.Context, r *connect.Request[mnemev1.DeleteMemoryRequest],
) (*connect.Response[mnemev1.DeleteMemoryResponse], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.of(scope(r.Header(), r.Msg.GetUserId()), r.Msg.GetMemoryId())
	if err != nil {
		return nil, err
	}
	k.Status, k.ValidTo = mnemev1.Status_STATUS_RETRACTED, timestamppb.New(m.now())
	return connect.NewResponse(&mnemev1.DeleteMemoryResponse{Memory: k}), nil
}

func (m *mneme) GetMemory(
	_ context.Context, r *connect.Request[mnemev1.GetMemoryRequest],
) (*connect.Response[mnemev1.GetMemoryResponse], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := scope(r.Header(), r.Msg.GetUserId())
	k, err := m.of(s, r.Msg.GetMemoryId())
	if err != nil {
		return nil, err
	}
	out := &mnemev1.GetMemoryResponse{Memory: k}
	for _, id := range k.GetSourceTurnIds() {
		out.Sources = append(out.Sources, m.banks[s].turns[id])
	}
	return connect.NewResponse(out), nil
}

func (m *mneme) GetMemoryHistory(
	_ context.Context, r *connect.Request[mnemev1.GetMemoryHistoryRequest],
) (*connect.Response[mnemev1.GetMemoryHistoryResponse], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(r.Msg.GetMemoryId()) != 36 {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("memory_id: is not a UUID"))
	}
	for s, b := range m.banks {
		own := r.Msg.GetUserId() == "" || r.Msg.GetUserId() == s.User
		if _, err := m.of(s, r.Msg.GetMemoryId()); err != nil || !own || s.Tenant != r.Header().Get("Mneme-Tenant") {
			continue
		}
		return connect.NewResponse(&mnemev1.GetMemoryHistoryResponse{UserId: s.User,
			Versions: b.connected(r.Msg.GetMemoryId())}), nil
	}
	return nil, errNoMemory
}

// connected are the versions of a memory, oldest first.
func (b *bank) connected(id string) []*mnemev1.Memory {
	ids := []string{id}
	for range b.memories {
		for _, k := range b.memories {
			near := slices.Contains(ids, k.GetId())
			for _, p := range k.GetPredecessorIds() {
				near = near || slices.Contains(ids, p)
			}
			if near {
				ids = append(append(ids, k.GetId()), k.GetPredecessorIds()...)
			}
		}
	}
	var out []*mnemev1.Memory
	for _, k := range b.memories {
		if slices.Contains(ids, k.GetId()) {
			out = append(out, k)
		}
	}
	return out
}

func (m *mneme) GetTurns(
	_ context.Context, r *connect.Request[mnemev1.GetTurnsRequest],
) (*connect.Response[mnemev1.GetTurnsResponse], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, out := m.bank(scope(r.Header(), r.Msg.GetUserId())), &mnemev1.GetTurnsResponse{}
	for _, id := range r.Msg.GetTurnIds() {
		t := &mnemev1.TurnStatus{TurnId: id, State: mnemev1.TurnState_TURN_STATE_PENDING}
		if b.turns[id] != nil {
			t.State = mnemev1.TurnState_TURN_STATE_KEPT
		}
		for _, waiting := range b.waiting {
			if slices.Contains(waiting, id) {
				t.State = mnemev1.TurnState_TURN_STATE_PENDING
			}
		}
		for _, k := range b.memories {
			if slices.Contains(k.GetSourceTurnIds(), id) {
				t.State, t.MemoryIds = mnemev1.TurnState_TURN_STATE_REMEMBERED, append(t.MemoryIds, k.GetId())
			}
		}
		out.Turns = append(out.Turns, t)
	}
	return connect.NewResponse(out), nil
}

func (m *mneme) ListMemories(
	_ context.Context, r *connect.Request[mnemev1.ListMemoriesRequest],
) (*connect.Response[mnemev1.ListMemoriesResponse], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*mnemev1.Memory
	match, err := matcher(r.Msg.GetFilter())
	if err != nil {
		return nil, err
	}
	for _, k := range m.bank(scope(r.Header(), r.Msg.GetUserId())).memories {
		if slices.Contains(r.Msg.GetStatuses(), k.GetStatus()) && match(k) {
			all = append(all, k)
		}
	}
	from, _ := strconv.Atoi(r.Msg.GetPageToken())
	to := min(from+min(int(r.Msg.GetPageSize()), 3), len(all)) // so that pages are turned
	out := &mnemev1.ListMemoriesResponse{Memories: all[from:to]}
	m.listed += to - from
	if r.Msg.GetWithTotal() {
		out.Total = uint64(len(all)) //nolint:gosec // a few
	}
	if to < len(all) {
		out.NextPageToken = strconv.Itoa(to)
	}
	return connect.NewResponse(out), nil
}

func (m *mneme) Recall(
	_ context.Context, r *connect.Request[mnemev1.RecallRequest],
) (*connect.Response[mnemev1.RecallResponse], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.recalls++
	out := &mnemev1.RecallResponse{RecallId: "recall-" + strconv.Itoa(m.recalls)}
	words := strings.Fields(strings.ToLower(r.Msg.GetQuery()))
	match, err := matcher(r.Msg.GetFilter())
	if err != nil {
		return nil, err
	}
	for _, k := range m.bank(scope(r.Header(), r.Msg.GetUserId())).memories {
		if k.GetStatus() == mnemev1.Status_STATUS_ACTIVE && match(k) {
			out.Cited = append(out.Cited, &mnemev1.CitedMemory{Memory: k, Score: overlap(words, k)})
		}
	}
	slices.SortStableFunc(out.Cited, func(a, b *mnemev1.CitedMemory) int { return int(b.GetScore() - a.GetScore()) })
	out.Cited = out.Cited[:min(len(out.Cited), int(r.Msg.GetMemories()))]
	section := &mnemev1.ProfileSection{Name: "recent"}
	for i, c := range out.Cited {
		c.Index = uint32(i + 1) //nolint:gosec // a few
		section.Lines = append(section.Lines, c.GetMemory().GetContent())
	}
	if len(section.Lines) > 0 {
		out.Sections, out.Profile = []*mnemev1.ProfileSection{section}, "recent:\n- "+strings.Join(section.Lines, "\n- ")+"\n"
	}
	return connect.NewResponse(out), nil
}

// overlap is a score like the reranker's: it has no bounds.
func overlap(words []string, k *mnemev1.Memory) float64 {
	out := 3.5
	for _, w := range k.GetKeywords() {
		if slices.Contains(words, strings.Trim(w, ".?!")) {
			out += 2.5
		}
	}
	return out
}

func (*mneme) ReportCitations(
	context.Context, *connect.Request[mnemev1.ReportCitationsRequest],
) (*connect.Response[mnemev1.ReportCitationsResponse], error) {
	return connect.NewResponse(&mnemev1.ReportCitationsResponse{}), nil
}

func (m *mneme) GetCore(
	_ context.Context, r *connect.Request[mnemev1.GetCoreRequest],
) (*connect.Response[mnemev1.GetCoreResponse], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := &mnemev1.CoreBlock{}
	if len(m.bank(scope(r.Header(), r.Msg.GetUserId())).memories) > 0 {
		out.Version, out.UpdatedAt = 3, timestamppb.New(m.now())
	}
	return connect.NewResponse(&mnemev1.GetCoreResponse{Core: out}), nil
}

func (m *mneme) EraseUser(
	_ context.Context, r *connect.Request[mnemev1.EraseUserRequest],
) (*connect.Response[mnemev1.EraseUserResponse], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := scope(r.Header(), r.Msg.GetUserId())
	delete(m.banks, s)
	m.erased = append(m.erased, s)
	return connect.NewResponse(&mnemev1.EraseUserResponse{ErasureId: "erasure-" + strconv.Itoa(len(m.erased))}), nil
}

func (m *mneme) GetErasure(
	_ context.Context, r *connect.Request[mnemev1.GetErasureRequest],
) (*connect.Response[mnemev1.GetErasureResponse], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := &mnemev1.GetErasureResponse{State: mnemev1.ErasureState_ERASURE_STATE_PENDING}
	for i, s := range m.erased {
		if s == scope(r.Header(), r.Msg.GetUserId()) && r.Msg.GetErasureId() == "erasure-"+strconv.Itoa(i+1) {
			out.State = mnemev1.ErasureState_ERASURE_STATE_DONE
		}
	}
	return connect.NewResponse(out), nil
}
