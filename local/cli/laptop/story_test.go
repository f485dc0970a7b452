package laptop

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/cli/sample"
	"github.com/mneme-memory/mneme/local/standalone"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/shared/memory"
)

// talkative is a Mneme whose texts are as long as they may be, with many memories. Erasures are done at once.
type talkative struct {
	mnemev1connect.UnimplementedUtilizerServiceHandler
	mnemev1connect.UnimplementedMemoryServiceHandler
	mnemev1connect.UnimplementedDiagnosisServiceHandler
	mnemev1connect.UnimplementedUserDataServiceHandler
	erased chan string
}

var long = strings.Repeat("она очень любит 読書と映画 and\nnever \x1b[2Jstops talking ", 40)

func entry(n int, content string, before ...string) *mnemev1.Memory {
	return &mnemev1.Memory{
		Id: fmt.Sprint("m", n), Kind: mnemev1.Kind_KIND_EPISODIC, Content: content, Status: mnemev1.Status_STATUS_ACTIVE,
		Version:        uint32(n),
		PredecessorIds: before, SourceTurnIds: []string{fmt.Sprint("turn", n)}, ValidFrom: timestamppb.New(time.Unix(0, 0)),
	}
}

func (talkative) ListMemories(context.Context, *connect.Request[mnemev1.ListMemoriesRequest]) (
	*connect.Response[mnemev1.ListMemoriesResponse], error) {
	out := &mnemev1.ListMemoriesResponse{}
	for n := range 100 {
		out.Memories = append(out.Memories, entry(n, long))
	}
	return connect.NewResponse(out), nil
}

func (talkative) Answer(
	_ context.Context, r *connect.Request[mnemev1.AnswerRequest],
) (*connect.Response[mnemev1.AnswerResponse], error) {
	out := &mnemev1.AnswerResponse{Answer: "It is " + long, Recall: &mnemev1.RecallResponse{}}
	if r.Msg.GetRecall().GetQuery() == "nothing helps" {
		return connect.NewResponse(out), nil
	}
	for n := range 9 {
		out.CitedIds = append(out.CitedIds, fmt.Sprint("m", n))
		out.Recall.Cited = append(out.Recall.Cited,
			&mnemev1.CitedMemory{Index: uint32(n), Memory: entry(n, "cited "+long, "m99")})
	}
	return connect.NewResponse(out), nil
}

func (talkative) GetMemoryHistory(context.Context, *connect.Request[mnemev1.GetMemoryHistoryRequest]) (
	*connect.Response[mnemev1.GetMemoryHistoryResponse], error) {
	out := &mnemev1.GetMemoryHistoryResponse{}
	for n := range 20 {
		out.Versions = append(out.Versions, entry(n, "version "+long))
	}
	return connect.NewResponse(out), nil
}

func (talkative) Why(
	_ context.Context, r *connect.Request[mnemev1.WhyRequest],
) (*connect.Response[mnemev1.WhyResponse], error) {
	return connect.NewResponse(&mnemev1.WhyResponse{Stage: mnemev1.Stage_STAGE_DROPPED_BY_FILTER,
		Findings: []*mnemev1.Finding{
			{TurnId: r.Msg.GetExpectTurnIds()[0], Stage: mnemev1.Stage_STAGE_DROPPED_BY_FILTER, Reason: "scored 0.1, " + long},
		}}), nil
}

func (k talkative) EraseUser(_ context.Context, r *connect.Request[mnemev1.EraseUserRequest]) (
	*connect.Response[mnemev1.EraseUserResponse], error) {
	k.erased <- r.Msg.GetUserId()
	return connect.NewResponse(&mnemev1.EraseUserResponse{ErasureId: "erasure-1"}), nil
}

func (talkative) GetErasure(context.Context, *connect.Request[mnemev1.GetErasureRequest]) (
	*connect.Response[mnemev1.GetErasureResponse], error) {
	return connect.NewResponse(&mnemev1.GetErasureResponse{
		State: mnemev1.ErasureState_ERASURE_STATE_DONE, DoneAt: timestamppb.New(time.Unix(0, 0)),
	}), nil
}

func (k talkative) ScanUser(
	context.Context, *connect.Request[mnemev1.ScanUserRequest],
) (*connect.Response[mnemev1.ScanUserResponse], error) {
	out := &mnemev1.ScanUserResponse{}
	for n := range 40 {
		count := &mnemev1.StoreCount{Store: fmt.Sprint("a store with a long name ", n), Count: 3}
		if len(k.erased) > 0 {
			count.Count = 0
		}
		out.Counts = append(out.Counts, count)
	}
	return connect.NewResponse(out), nil
}

// serve starts a Mneme, and returns a session with it.
func (k talkative) serve(t *testing.T) (*console.Console, *console.Session) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(mnemev1connect.NewUtilizerServiceHandler(k))
	mux.Handle(mnemev1connect.NewMemoryServiceHandler(k))
	mux.Handle(mnemev1connect.NewDiagnosisServiceHandler(k))
	mux.Handle(mnemev1connect.NewUserDataServiceHandler(k))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	c := &console.Console{Out: io.Discard, Err: io.Discard}
	s, err := c.Open(t.Context(), standalone.Connection{Utilizer: server.URL, Reranker: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(t.Context()) })
	return c, s
}

func talk(user string, turns int) dataset.Session {
	out := dataset.Session{User: user, ID: user + "-1"}
	for n := range turns {
		out.Turns = append(out.Turns, memory.Turn{
			ID: fmt.Sprint("turn", n), Role: memory.RoleUser, Speaker: long, Text: long, Time: time.Unix(int64(n), 0),
		})
	}
	return out
}

func TestAStoryFitsAPage(t *testing.T) {
	k := talkative{erased: make(chan string, 1)}
	c, s := k.serve(t)
	told, err := readStory(t.Context(), c, s, []dataset.Session{talk("ines", 120), talk("jonas", 3)}, []sample.Question{
		{User: "jonas", Query: "another user's"}, {User: "ines", Query: "nothing helps"},
		{User: "ines", Query: "Where? " + long},
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	told.print(&out, 2*time.Second)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) > pageLines {
		t.Errorf("the story has %d lines, want at most %d:\n%s", len(lines), pageLines, out.String())
	}
	for _, line := range lines {
		if width := columns(line); width > pageColumns {
			t.Errorf("%d columns, want at most %d: %q", width, pageColumns, line)
		}
		if strings.Contains(line, "\x1b") {
			t.Errorf("a text commands the terminal: %q", line)
		}
	}
	for _, want := range []string{
		"WHAT WAS SAID   ines, 120 turns in 1 sessions", "WHAT WAS REMEMBERED   100 memories", "... and 92 more",
		"WHAT AN UPDATE CHANGED", "v0, 1970-01-01 to now", "QUESTION   Where?", "It is ", "[0] from turn turn0: cited",
		"WHY WAS THIS NOT REMEMBERED?", "dropped by the filter: scored 0.1", "ERASURE WITH PROOF   jonas",
		"120 objects before, 0 after",
		"erasure-1", "TRY NEXT", "demo --all",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if t.Failed() {
		t.Log("\n" + out.String())
	}
	if user := <-k.erased; user != "jonas" {
		t.Errorf("%s was erased, want the user whom the story does not show", user)
	}
}

// columns is the width of a line on a terminal, where an ideograph has two columns.
func columns(line string) int {
	width := 0
	for _, r := range line {
		width++
		if r >= 0x1100 {
			width++
		}
	}
	return width
}
