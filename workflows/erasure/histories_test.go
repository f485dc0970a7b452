package erasure_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/workflows/consolidation"
	"github.com/mneme-memory/mneme/workflows/erasure"
)

// slowServer is a Temporal server that carries a deletion out after the run was looked up some more times.
type slowServer struct {
	workflowservice.UnimplementedWorkflowServiceServer
	lookups int

	mu       sync.Mutex
	runs     map[string]*run // by run id
	requests []string        // run ids of deletions, in order
	started  []*workflowservice.SignalWithStartWorkflowExecutionRequest
	listed   []*workflowpb.WorkflowExecutionInfo
	query    string
}

// listPage is how many workflows the server lists at a time.
const listPage = 500

type run struct {
	info *workflowpb.WorkflowExecutionInfo
	left int // lookups until it is gone, once it is to be deleted
	gone bool
	ends bool // it is to be deleted
}

func (s *slowServer) add(scope memory.Scope, id string, closed time.Time) {
	s.runs[id] = &run{left: s.lookups, info: &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: consolidation.WorkflowID(scope), RunId: id},
		StartTime: timestamppb.New(start.Add(-time.Hour)), CloseTime: timestamppb.New(closed),
		Status: enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED,
	}}
}

func (s *slowServer) GetSystemInfo(
	context.Context, *workflowservice.GetSystemInfoRequest,
) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{Capabilities: &workflowservice.GetSystemInfoResponse_Capabilities{}}, nil
}

func (s *slowServer) ListWorkflowExecutions(_ context.Context, r *workflowservice.ListWorkflowExecutionsRequest) (
	*workflowservice.ListWorkflowExecutionsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.query = r.GetQuery()
	from := 0
	if token := string(r.GetNextPageToken()); token != "" {
		var err error
		if from, err = strconv.Atoi(token); err != nil {
			return nil, status.Error(codes.InvalidArgument, "the token is wrong")
		}
	}
	out := &workflowservice.ListWorkflowExecutionsResponse{Executions: s.listed[from:min(from+listPage, len(s.listed))]}
	if next := from + listPage; next < len(s.listed) {
		out.NextPageToken = []byte(strconv.Itoa(next))
	}
	for _, run := range s.runs {
		if r.GetQuery() == fmt.Sprintf("WorkflowId = %q", run.info.GetExecution().GetWorkflowId()) {
			out.Executions = append(out.Executions, run.info)
		}
	}
	return out, nil
}

func (s *slowServer) DescribeWorkflowExecution(_ context.Context, r *workflowservice.DescribeWorkflowExecutionRequest) (
	*workflowservice.DescribeWorkflowExecutionResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.runs[cmp.Or(r.GetExecution().GetRunId(), r.GetExecution().GetWorkflowId())]
	if found == nil || found.gone {
		return nil, serviceerror.ToStatus(serviceerror.NewNotFound("absent")).Err()
	}
	if found.ends {
		found.left--
		found.gone = found.left <= 0
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: found.info}, nil
}

func (s *slowServer) GetWorkflowExecutionHistory(context.Context, *workflowservice.GetWorkflowExecutionHistoryRequest) (
	*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	return nil, status.Error(codes.NotFound, "absent")
}

func (s *slowServer) DeleteWorkflowExecution(_ context.Context, r *workflowservice.DeleteWorkflowExecutionRequest) (
	*workflowservice.DeleteWorkflowExecutionResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.GetWorkflowExecution().GetRunId()
	s.requests = append(s.requests, id)
	s.runs[id].ends = true
	return &workflowservice.DeleteWorkflowExecutionResponse{}, nil
}

func (s *slowServer) SignalWithStartWorkflowExecution(
	_ context.Context, r *workflowservice.SignalWithStartWorkflowExecutionRequest,
) (
	*workflowservice.SignalWithStartWorkflowExecutionResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = append(s.started, r)
	return &workflowservice.SignalWithStartWorkflowExecutionResponse{RunId: "r"}, nil
}

// dial serves s and returns a client of it.
func (s *slowServer) dial(t *testing.T) client.Client {
	t.Helper()
	s.runs = map[string]*run{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(served, s)
	done := make(chan struct{})
	go func() { defer close(done); _ = served.Serve(l) }()
	c, err := client.NewLazyClient(consolidation.ClientOptions(client.Options{
		HostPort: l.Addr().String(), Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); served.Stop(); <-done })
	return c
}

// Each further request is a further task of the server, and delays the requests for other users. Twelve concurrent
// erasures send one request for each run.
func TestTheDeletionOfARunIsRequestedOnce(t *testing.T) {
	const users, runs = 12, 2
	s := &slowServer{lookups: 10}
	h := erasure.Histories{Client: s.dial(t), Namespace: "default"}
	var erasures sync.WaitGroup
	for i := range users {
		scope := memory.Scope{Tenant: "acme", User: fmt.Sprint("user", i)}
		for n := range runs {
			s.add(scope, fmt.Sprint(scope.User, "-", n), time.Now().Add(-time.Hour))
		}
		env := newRun(t, h)
		begun := consolidation.Erased{Scope: scope, RequestID: "x1", RunID: scope.User + "-1", StartedAt: start}
		signalAt(env, 0, begun)
		erasures.Go(func() {
			env.ExecuteWorkflow(erasure.WorkflowName, erasure.Params{Scope: scope, RequestID: "x1"})
			if err := env.GetWorkflowError(); err != nil {
				t.Error(err)
			}
		})
	}
	erasures.Wait()
	seen := map[string]int{}
	for _, id := range s.requests {
		seen[id]++
	}
	if len(s.requests) != users*runs || len(seen) != users*runs {
		t.Errorf("%d requests for %d runs, want one for each of %d", len(s.requests), len(seen), users*runs)
	}
	for id, run := range s.runs {
		if !run.gone {
			t.Errorf("the run %s is left", id)
		}
	}
}

// The server delays the deletion of a run that it has not yet recorded as closed, and the deletions behind it.
func TestARunIsDeletedWhenItHasBeenClosedForLongEnough(t *testing.T) {
	for name, c := range map[string]struct {
		closed    time.Duration
		requested time.Duration
		want      int
	}{
		"just closed":           {closed: 10 * time.Second},
		"closed for a while":    {closed: time.Minute, want: 1},
		"requested just now":    {closed: time.Hour, requested: time.Minute},
		"requested minutes ago": {closed: time.Hour, requested: 6 * time.Minute, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &slowServer{lookups: 1}
			h := erasure.Histories{Client: s.dial(t), Namespace: "default", DeleteAfter: 40 * time.Second}
			s.add(ana, "r1", time.Now().Add(-c.closed))
			requested := erasure.Deletions{}
			if c.requested > 0 {
				requested["r1"] = time.Now().Add(-c.requested)
			}
			before := requested["r1"]
			if err := h.Erase(t.Context(), erasure.Request{Scope: ana, Deletions: requested}); err != nil {
				t.Fatal(err)
			}
			if len(s.requests) != c.want || requested["r1"].After(before) != (c.want > 0) {
				t.Errorf("%d requests, want %d; remembered %v", len(s.requests), c.want, requested)
			}
		})
	}
}

// After a store's failure, the erasure runs again and remembers its requests.
func TestAFailureElsewhereRequestsNoDeletionAgain(t *testing.T) {
	s := &slowServer{lookups: 6}
	h := erasure.Histories{Client: s.dial(t), Namespace: "default"}
	s.add(ana, "r1", time.Now().Add(-time.Hour))
	env := newRun(t, h, &store{name: "unavailable", has: 1, failures: 5})
	signalAt(env, 0, erased("r1"))
	report(t, env, erasure.Params{Scope: ana, RequestID: "x1"})
	if len(s.requests) != 1 {
		t.Errorf("%d requests, want 1", len(s.requests))
	}
}
