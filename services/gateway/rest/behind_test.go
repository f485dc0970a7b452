package rest_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
)

const (
	first  = "00000000-0000-5000-8000-000000000001"
	second = "00000000-0000-5000-8000-000000000002"
	other  = "00000000-0000-5000-8000-00000000000f"
	runs   = "runs"  // an erasure that runs
	waits  = "waits" // a session or an erasure of which nothing is done yet, and who is erased by such a one
)

// behind is a fake of the services behind the gateway. It records the requests.
type behind struct {
	mnemev1connect.UnimplementedUtilizerServiceHandler
	mnemev1connect.UnimplementedMemoryServiceHandler
	mnemev1connect.UnimplementedUserDataServiceHandler
	mnemev1connect.UnimplementedDiagnosisServiceHandler

	mu       sync.Mutex
	calls    []string // procedures and tenants
	asked    any      // the last request
	fail     error    // of every call
	memories []*mnemev1.Memory
	states   map[string]*mnemev1.TurnStatus
	export   []string
}

func newBehind() *behind {
	return &behind{states: map[string]*mnemev1.TurnStatus{}, memories: []*mnemev1.Memory{
		{
			Id: first, Kind: mnemev1.Kind_KIND_FACT, Content: "I live in Porto.", Speaker: "Ines",
			Status: mnemev1.Status_STATUS_ACTIVE, Version: 1,
			RecordedAt: timestamppb.New(now), ValidFrom: timestamppb.New(now), SourceTurnIds: []string{"t1"}, SessionId: "s",
			EventTime: &mnemev1.EventTime{Time: timestamppb.New(now), Precision: mnemev1.Precision_PRECISION_DAY,
				Expression: "today"},
		},
		{Id: second, Kind: mnemev1.Kind_KIND_PREFERENCE, Content: "Likes tea.", Status: mnemev1.Status_STATUS_RETRACTED,
			Version: 2},
	}, export: []string{"{\"header\":1}\n", "{\"memory\":1}\n"}}
}

func (b *behind) note(r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, r.URL.Path+" "+r.Header.Get("Mneme-Tenant"))
}

// take records a request, and returns the error of every call.
func (b *behind) take(msg any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = msg
	return b.fail
}

func reply[T any](msg *T, err error) (*connect.Response[T], error) {
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(msg), nil
}

func (b *behind) find(id string) (*mnemev1.Memory, error) {
	for _, m := range b.memories {
		if m.GetId() == id {
			return m, nil
		}
	}
	return nil, connect.NewError(connect.CodeNotFound, errors.New("memory not found"))
}

func (b *behind) recall(r *mnemev1.RecallRequest) *mnemev1.RecallResponse {
	return &mnemev1.RecallResponse{
		RecallId: "r1", Profile: "what " + r.GetUserId() + " told about " + r.GetQuery(), LatencyMs: 1.5,
		Sections: []*mnemev1.ProfileSection{{Name: "constraints", Lines: []string{"line [1]"}}},
		Cited:    []*mnemev1.CitedMemory{{Index: 1, Memory: b.memories[0], Score: 0.5}},
	}
}

func (b *behind) Recall(
	_ context.Context, r *connect.Request[mnemev1.RecallRequest],
) (*connect.Response[mnemev1.RecallResponse], error) {
	return reply(b.recall(r.Msg), b.take(r.Msg))
}

func (b *behind) Answer(
	_ context.Context, r *connect.Request[mnemev1.AnswerRequest],
) (*connect.Response[mnemev1.AnswerResponse], error) {
	return reply(&mnemev1.AnswerResponse{Answer: "Porto [1]", CitedIds: []string{first},
		Recall: b.recall(r.Msg.GetRecall())}, b.take(r.Msg))
}

func (b *behind) ReportCitations(
	_ context.Context, r *connect.Request[mnemev1.ReportCitationsRequest],
) (*connect.Response[mnemev1.ReportCitationsResponse], error) {
	return reply(&mnemev1.ReportCitationsResponse{}, b.take(r.Msg))
}

func (b *behind) Why(
	_ context.Context, r *connect.Request[mnemev1.WhyRequest],
) (*connect.Response[mnemev1.WhyResponse], error) {
	return reply(&mnemev1.WhyResponse{
		Stage: mnemev1.Stage_STAGE_NOT_RETRIEVED, Answer: &mnemev1.AnswerResponse{Recall: b.recall(r.Msg.GetRecall())},
		Findings: []*mnemev1.Finding{{TurnId: "t1", Stage: mnemev1.Stage_STAGE_NOT_RETRIEVED, Reason: "too far",
			MemoryIds: []string{first}}},
		Candidates: []*mnemev1.CandidateView{{MemoryId: second, Retrieved: 1, Ranked: 1, Shown: true}},
		Core:       &mnemev1.CoreBlock{Content: "lives in Porto", Version: 3},
	}, b.take(r.Msg))
}

// ListMemories pages by the place in the list.
func (b *behind) ListMemories(
	_ context.Context, r *connect.Request[mnemev1.ListMemoriesRequest],
) (*connect.Response[mnemev1.ListMemoriesResponse], error) {
	out := &mnemev1.ListMemoriesResponse{}
	from, err := strconv.Atoi("0" + r.Msg.GetPageToken())
	if err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("page_token: is not one of ours"))
	}
	for i, m := range b.memories {
		if i < from || len(r.Msg.GetStatuses()) > 0 && !slices.Contains(r.Msg.GetStatuses(), m.GetStatus()) {
			continue
		}
		if len(out.Memories) == int(r.Msg.GetPageSize()) {
			out.NextPageToken = strconv.Itoa(i)
			break
		}
		out.Memories = append(out.Memories, m)
	}
	return reply(out, b.take(r.Msg))
}

func (b *behind) GetMemory(
	_ context.Context, r *connect.Request[mnemev1.GetMemoryRequest],
) (*connect.Response[mnemev1.GetMemoryResponse], error) {
	m, err := b.find(r.Msg.GetMemoryId())
	return reply(&mnemev1.GetMemoryResponse{Memory: m, Sources: []*mnemev1.Turn{{
		TurnId: "t1", Speaker: "Ines", Role: mnemev1.Role_ROLE_USER, Text: "I live in Porto.", Time: timestamppb.New(now),
	}}}, errors.Join(b.take(r.Msg), err))
}

func (b *behind) GetMemoryHistory(
	_ context.Context, r *connect.Request[mnemev1.GetMemoryHistoryRequest],
) (*connect.Response[mnemev1.GetMemoryHistoryResponse], error) {
	m, err := b.find(r.Msg.GetMemoryId())
	return reply(&mnemev1.GetMemoryHistoryResponse{Versions: []*mnemev1.Memory{m}}, errors.Join(b.take(r.Msg), err))
}

func (b *behind) DeleteMemory(
	_ context.Context, r *connect.Request[mnemev1.DeleteMemoryRequest],
) (*connect.Response[mnemev1.DeleteMemoryResponse], error) {
	m, err := b.find(r.Msg.GetMemoryId())
	return reply(&mnemev1.DeleteMemoryResponse{Memory: m}, errors.Join(b.take(r.Msg), err))
}

func (b *behind) ReleaseMemory(
	_ context.Context, r *connect.Request[mnemev1.ReleaseMemoryRequest],
) (*connect.Response[mnemev1.ReleaseMemoryResponse], error) {
	m, err := b.find(r.Msg.GetMemoryId())
	return reply(&mnemev1.ReleaseMemoryResponse{Memory: m}, errors.Join(b.take(r.Msg), err))
}

func (b *behind) AddMemory(
	_ context.Context, r *connect.Request[mnemev1.AddMemoryRequest],
) (*connect.Response[mnemev1.AddMemoryResponse], error) {
	m := &mnemev1.Memory{
		Id: other, Kind: r.Msg.GetKind(), Content: r.Msg.GetTurn().GetText(), Status: mnemev1.Status_STATUS_ACTIVE,
		Version:       1,
		SourceTurnIds: []string{r.Msg.GetTurn().GetTurnId()}, SessionId: r.Msg.GetSessionId(),
	}
	return reply(&mnemev1.AddMemoryResponse{Memory: m}, b.take(r.Msg))
}

func (b *behind) UpdateMemory(
	_ context.Context, r *connect.Request[mnemev1.UpdateMemoryRequest],
) (*connect.Response[mnemev1.UpdateMemoryResponse], error) {
	m := &mnemev1.Memory{
		Id: other, Content: r.Msg.GetTurn().GetText(), Status: mnemev1.Status_STATUS_ACTIVE, Version: 2,
		PredecessorIds: []string{r.Msg.GetMemoryId()},
	}
	_, err := b.find(r.Msg.GetMemoryId())
	return reply(&mnemev1.UpdateMemoryResponse{Memory: m}, errors.Join(b.take(r.Msg), err))
}

func (b *behind) GetTurns(
	_ context.Context, r *connect.Request[mnemev1.GetTurnsRequest],
) (*connect.Response[mnemev1.GetTurnsResponse], error) {
	out := &mnemev1.GetTurnsResponse{}
	for _, id := range r.Msg.GetTurnIds() {
		state := b.states[id]
		if state == nil {
			state = &mnemev1.TurnStatus{TurnId: id, State: mnemev1.TurnState_TURN_STATE_PENDING}
		}
		out.Turns = append(out.Turns, state)
	}
	return reply(out, b.take(r.Msg))
}

func (b *behind) GetWorkingMemory(
	_ context.Context, r *connect.Request[mnemev1.GetWorkingMemoryRequest],
) (*connect.Response[mnemev1.GetWorkingMemoryResponse], error) {
	return reply(&mnemev1.GetWorkingMemoryResponse{Turns: []*mnemev1.Turn{{
		TurnId: "t1", Speaker: "Ines", Role: mnemev1.Role_ROLE_ASSISTANT, Text: "for " + r.Msg.GetUserId(),
	}}}, b.take(r.Msg))
}

func (b *behind) GetSession(
	_ context.Context, r *connect.Request[mnemev1.GetSessionRequest],
) (*connect.Response[mnemev1.GetSessionResponse], error) {
	if r.Msg.GetSessionId() == waits {
		return reply(&mnemev1.GetSessionResponse{State: mnemev1.FormationState_FORMATION_STATE_PENDING}, b.take(r.Msg))
	}
	return reply(&mnemev1.GetSessionResponse{
		State: mnemev1.FormationState_FORMATION_STATE_FORMED, FormedAt: timestamppb.New(now), Turns: 4, Operations: 2,
	}, b.take(r.Msg))
}

func (b *behind) GetCore(
	_ context.Context, r *connect.Request[mnemev1.GetCoreRequest],
) (*connect.Response[mnemev1.GetCoreResponse], error) {
	return reply(&mnemev1.GetCoreResponse{Core: &mnemev1.CoreBlock{
		Content: "lives in Porto", Version: 3, UpdatedAt: timestamppb.New(now),
		Lines: []*mnemev1.CoreLine{{Text: "Porto", MemoryIds: []string{first}}},
	}}, b.take(r.Msg))
}

func (b *behind) EraseUser(
	_ context.Context, r *connect.Request[mnemev1.EraseUserRequest],
) (*connect.Response[mnemev1.EraseUserResponse], error) {
	id := r.Msg.GetRequestId()
	if id == "" {
		id = "a new one"
	}
	if r.Msg.GetUserId() == waits {
		id = waits
	}
	return reply(&mnemev1.EraseUserResponse{ErasureId: id}, b.take(r.Msg))
}

func (b *behind) GetErasure(
	_ context.Context, r *connect.Request[mnemev1.GetErasureRequest],
) (*connect.Response[mnemev1.GetErasureResponse], error) {
	if strings.Contains(r.Msg.GetErasureId(), waits) {
		return reply(&mnemev1.GetErasureResponse{State: mnemev1.ErasureState_ERASURE_STATE_PENDING}, b.take(r.Msg))
	}
	if strings.Contains(r.Msg.GetErasureId(), runs) {
		return reply(&mnemev1.GetErasureResponse{
			State: mnemev1.ErasureState_ERASURE_STATE_RUNNING, StartedAt: timestamppb.New(now), Rounds: 4,
			Remaining: []*mnemev1.StoreRemainder{{Store: "dead letters", Count: 2, Since: timestamppb.New(now),
				Error: "unavailable"}},
		}, b.take(r.Msg))
	}
	return reply(&mnemev1.GetErasureResponse{
		State: mnemev1.ErasureState_ERASURE_STATE_DONE, DoneAt: timestamppb.New(now), Rounds: 1,
	}, b.take(r.Msg))
}

func (b *behind) ScanUser(
	_ context.Context, r *connect.Request[mnemev1.ScanUserRequest],
) (*connect.Response[mnemev1.ScanUserResponse], error) {
	return reply(&mnemev1.ScanUserResponse{
		Counts:    []*mnemev1.StoreCount{{Store: "memories", Count: 2}},
		Transport: []*mnemev1.TransportTopic{{Topic: "mneme.session-events", Texts: true, RetentionMs: -1}},
	}, b.take(r.Msg))
}

func (b *behind) ExportUser(
	_ context.Context, r *connect.Request[mnemev1.ExportUserRequest],
	out *connect.ServerStream[mnemev1.ExportUserResponse],
) error {
	for _, part := range b.export {
		if err := out.Send(&mnemev1.ExportUserResponse{Data: []byte(part)}); err != nil {
			return err
		}
	}
	return b.take(r.Msg)
}

func (b *behind) ImportUser(
	_ context.Context, r *connect.Request[mnemev1.ImportUserRequest],
) (*connect.Response[mnemev1.ImportUserResponse], error) {
	n := r.Msg.GetSoFar().GetMemories() + 2
	return reply(&mnemev1.ImportUserResponse{SoFar: &mnemev1.BankCounts{Memories: n}, Complete: n == 4}, b.take(r.Msg))
}
