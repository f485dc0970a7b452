package erasure

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/workflows/consolidation"
)

const (
	// lookups bounds the runs that are looked at or deleted at a time.
	lookups = 8
	// endWait is the time that an erasure waits for the end of the run that emptied the bank. It then looks again
	// later.
	endWait = 5 * time.Second
	// repeatAfter is the delay before a repeated deletion request for a run that still exists. The server keeps
	// requests over its restarts. Each further request is a further task that delays the requests for other users.
	repeatAfter = 5 * time.Minute
)

// Histories are the runs of users' consolidation workflows: their histories hold texts.
type Histories struct {
	Client client.Client
	// Namespace is the one of Client.
	Namespace string
	// DeleteAfter is how long a run has been closed before its deletion is requested. The server records closed runs as
	// processed at intervals. It puts off the deletion of a run that it has not yet recorded, for minutes where several
	// come together.
	DeleteAfter time.Duration
}

var _ Store = Histories{}

// Name implements Store.
func (h Histories) Name() string { return "workflow histories" }

// Erase implements Store. It requests each deletion once; the server carries it out later. Runs that have not been
// closed for long enough stay.
func (h Histories) Erase(ctx context.Context, r Request) error {
	h.awaitEnd(ctx, r)
	runs, err := h.runs(ctx, r)
	if err != nil {
		return err
	}
	now := time.Now()
	runs = slices.DeleteFunc(runs, func(run *workflowpb.WorkflowExecutionInfo) bool {
		return !h.due(run, r.Deletions, now)
	})
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(lookups)
	var mu sync.Mutex
	for _, run := range runs {
		g.Go(func() error {
			_, err := h.Client.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
				Namespace: h.Namespace, WorkflowExecution: run.GetExecution(),
			})
			if err != nil && !isAbsent(err) {
				return fmt.Errorf("delete workflow run: %w", err)
			}
			mu.Lock()
			defer mu.Unlock()
			r.Deletions[run.GetExecution().GetRunId()] = now
			return nil
		})
	}
	return g.Wait()
}

// due reports whether the deletion of a run is to be requested now.
func (h Histories) due(run *workflowpb.WorkflowExecutionInfo, requested Deletions, now time.Time) bool {
	if run.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING ||
		now.Sub(run.GetCloseTime().AsTime()) < h.DeleteAfter {
		return false
	}
	at, ok := requested[run.GetExecution().GetRunId()]
	return !ok || now.Sub(at) >= repeatAfter
}

// awaitEnd waits a little for the run of the request. How it ends, and whether it does, is found out by looking.
func (h Histories) awaitEnd(ctx context.Context, r Request) {
	if r.RunID == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	_ = h.Client.GetWorkflow(ctx, consolidation.WorkflowID(r.Scope), r.RunID).
		GetWithOptions(ctx, nil, client.WorkflowRunGetOptions{DisableFollowingRuns: true})
}

// Count implements Store.
func (h Histories) Count(ctx context.Context, r Request) (int, error) {
	runs, err := h.runs(ctx, r)
	return len(runs), err
}

// runs returns the existing runs to delete. The server's list may lag in both directions. So every run on the list
// is looked up, and always the newest run and the request's run.
func (h Histories) runs(ctx context.Context, r Request) ([]*workflowpb.WorkflowExecutionInfo, error) {
	id := consolidation.WorkflowID(r.Scope)
	candidates := map[string]bool{"": true} // the newest
	if r.RunID != "" {
		candidates[r.RunID] = true
	}
	for token := []byte(nil); ; {
		page, err := h.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: h.Namespace, Query: fmt.Sprintf("WorkflowId = %q", id), NextPageToken: token,
		})
		if err != nil {
			return nil, fmt.Errorf("list workflows: %w", err)
		}
		for _, run := range page.GetExecutions() {
			candidates[run.GetExecution().GetRunId()] = true
		}
		if token = page.GetNextPageToken(); len(token) == 0 {
			break
		}
	}
	return h.existing(ctx, id, candidates, r)
}

// existing looks up the candidates and keeps those that are meant, each once.
func (h Histories) existing(
	ctx context.Context, id string, candidates map[string]bool, r Request,
) ([]*workflowpb.WorkflowExecutionInfo,
	error) {
	var mu sync.Mutex
	found := map[string]*workflowpb.WorkflowExecutionInfo{}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(lookups)
	for run := range candidates {
		g.Go(func() error {
			info, err := h.lookUp(ctx, &commonpb.WorkflowExecution{WorkflowId: id, RunId: run})
			if err != nil || info == nil || !meant(info, r) {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			found[info.GetExecution().GetRunId()] = info
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	out := make([]*workflowpb.WorkflowExecutionInfo, 0, len(found))
	for _, info := range found {
		out = append(out, info)
	}
	return out, nil
}

// lookUp returns nil for a run that does not exist.
func (h Histories) lookUp(
	ctx context.Context, run *commonpb.WorkflowExecution,
) (*workflowpb.WorkflowExecutionInfo, error) {
	res, err := h.Client.DescribeWorkflowExecution(ctx, run.GetWorkflowId(), run.GetRunId())
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up workflow: %w", err)
	}
	return res.GetWorkflowExecutionInfo(), nil
}

// meant reports whether a run has data from before the erasure. A user's runs follow one another. So a run has such
// data if it began before the run that emptied the bank, and not if it began after.
func meant(info *workflowpb.WorkflowExecutionInfo, r Request) bool {
	return r.RunID == "" || info.GetExecution().GetRunId() == r.RunID || info.GetStartTime().AsTime().Before(r.StartedAt)
}
