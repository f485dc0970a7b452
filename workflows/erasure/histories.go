package erasure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"github.com/mneme-memory/mneme/workflows/consolidation"
)

const (
	// lookups bounds the runs that are looked at or deleted at a time.
	lookups = 8
	// endWait is how long an erasure waits for the run that emptied the bank to end, before it looks again later.
	endWait = 5 * time.Second
)

// Histories are the runs of users' consolidation workflows: their histories hold texts.
type Histories struct {
	Client client.Client
	// Namespace is the one of Client.
	Namespace string
}

var _ Store = Histories{}

// Name implements Store.
func (h Histories) Name() string { return "workflow histories" }

// Erase implements Store. Runs that have not ended stay: the one that emptied the bank ends soon.
func (h Histories) Erase(ctx context.Context, r Request) error {
	h.awaitEnd(ctx, r)
	runs, err := h.runs(ctx, r)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(lookups)
	for _, run := range runs {
		if run.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			continue
		}
		g.Go(func() error {
			_, err := h.Client.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
				Namespace: h.Namespace, WorkflowExecution: run.GetExecution(),
			})
			if isAbsent(err) {
				return nil
			}
			return err
		})
	}
	return g.Wait()
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

// runs returns the runs that are meant and exist. The server's list may lag behind both ways, so every run on it is looked up, and
// the newest and that of the request are looked up in any case.
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
func (h Histories) existing(ctx context.Context, id string, candidates map[string]bool, r Request) ([]*workflowpb.WorkflowExecutionInfo,
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
func (h Histories) lookUp(ctx context.Context, run *commonpb.WorkflowExecution) (*workflowpb.WorkflowExecutionInfo, error) {
	res, err := h.Client.DescribeWorkflowExecution(ctx, run.GetWorkflowId(), run.GetRunId())
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up workflow: %w", err)
	}
	return res.GetWorkflowExecutionInfo(), nil
}

// meant tells whether a run holds what came before the erasure. A user's runs follow one another, so those that began before the
// one that emptied the bank do, and those after it do not.
func meant(info *workflowpb.WorkflowExecutionInfo, r Request) bool {
	return r.RunID == "" || info.GetExecution().GetRunId() == r.RunID || info.GetStartTime().AsTime().Before(r.StartedAt)
}

func isAbsent(err error) bool {
	var absent *serviceerror.NotFound
	return errors.As(err, &absent)
}
