// Package erasure finishes the erasure of a user. Before an erasure begins, the user's own workflow, the bank's
// single writer, has emptied the bank. The erasure then empties the stores that this workflow does not own: dead
// letters, the histories of its runs, and every other store of a user's data. It erases and counts these stores
// until they are empty. Its own history contains ids and counts, and no text of a user.
package erasure

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

const (
	// cleanCounts in a row end the workflow.
	cleanCounts = 2
	// listLag is how long the server's list of runs may lack a run that has begun. A count that comes sooner after the
	// beginning of the last run to be deleted is not the last count.
	listLag = 3 * time.Second
	// minSettle is the shortest pause before the count that has to find nothing again.
	minSettle = time.Second
	// pauseStep and maxPause shape the pauses while something is left.
	pauseStep, maxPause = 500 * time.Millisecond, 10 * time.Second
)

// Workflow erases and counts until the stores are empty. If the request is delivered again, the user's bank is
// erased again for it. A further signal then starts a new erasure of the stores.
func Workflow(ctx workflow.Context, p Params) (Report, error) {
	signals := workflow.GetSignalChannel(ctx, SignalErased)
	if p.Erased == nil {
		p.Erased = new(consolidation.Erased)
		signals.Receive(ctx, p.Erased)
		p.StartedAt = workflow.GetInfo(ctx).WorkflowStartTime
	}
	e := &erasing{Params: p, shown: workflow.GetVersion(ctx, "show-progress", workflow.DefaultVersion,
		1) > workflow.DefaultVersion}
	for clean := 0; clean < cleanCounts; {
		if err := e.round(ctx); err != nil {
			return Report{}, err
		}
		wait := e.pauseBeforeRecount(workflow.Now(ctx))
		if clean++; len(e.Remaining) > 0 {
			clean, wait = 0, min(time.Duration(e.Rounds)*pauseStep, maxPause)
		}
		if clean < cleanCounts {
			if err := workflow.Sleep(ctx, wait); err != nil {
				return Report{}, err
			}
		}
		for signals.ReceiveAsync(e.Erased) {
			clean, e.empty = 0, nil
		}
		if clean < cleanCounts && workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return Report{}, workflow.NewContinueAsNewError(ctx, WorkflowName, e.Params)
		}
	}
	return Report{Rounds: e.Rounds, DoneAt: workflow.Now(ctx)}, e.show(ctx, nil)
}

// erasing is the state of a run.
type erasing struct {
	Params
	// empty are the stores in which the last count found nothing.
	empty []string
	// shown says that the run keeps its progress in its memo: runs of earlier versions do not.
	shown bool
}

// pauseBeforeRecount is the pause between a count that found nothing and the next one.
func (e *erasing) pauseBeforeRecount(now time.Time) time.Duration {
	return min(max(e.Erased.StartedAt.Add(listLag).Sub(now), minSettle), listLag)
}

// round erases once every store that is not known to be empty. It then counts all stores, and shows the rest.
func (e *erasing) round(ctx workflow.Context) error {
	options := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Minute, HeartbeatTimeout: 10 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 500 * time.Millisecond, BackoffCoefficient: 2,
			MaximumInterval: 15 * time.Second},
	})
	r := Request{Scope: e.Scope, RequestID: e.RequestID, RunID: e.Erased.RunID, StartedAt: e.Erased.StartedAt,
		Deletions: e.Deletions, Empty: e.empty}
	var a *Activities
	var erased Erasing
	if err := workflow.ExecuteActivity(options, a.EraseStores, r).Get(ctx, &erased); err != nil {
		return err // retried for ever; only cancellation ends it
	}
	e.Deletions, r.Failed = erased.Deletions, erased.Failed
	var counts []Count
	if err := workflow.ExecuteActivity(options, a.CountStores, r).Get(ctx, &counts); err != nil {
		return err
	}
	before := len(e.Remaining)
	e.Rounds, e.empty = e.Rounds+1, nil
	e.Remaining = remaining(counts, e.Remaining, workflow.Now(ctx))
	for _, c := range counts {
		if c.Count == 0 {
			e.empty = append(e.empty, c.Store)
		}
	}
	if len(e.Remaining)+before == 0 {
		return nil
	}
	return e.show(ctx, Progress{
		User: e.Scope.User, RequestID: e.RequestID, StartedAt: e.StartedAt, Rounds: e.Rounds, Remaining: e.Remaining,
	})
}

// show sets the Progress in the memo; nil removes it.
func (e *erasing) show(ctx workflow.Context, progress any) error {
	if !e.shown {
		return nil
	}
	return workflow.UpsertMemo(ctx, map[string]any{MemoProgress: progress})
}

// remaining are the stores that still hold something. Each keeps the time since when counts have found something.
func remaining(counts []Count, before []Remainder, now time.Time) []Remainder {
	since := map[string]time.Time{}
	for _, b := range before {
		since[b.Store] = b.Since
	}
	var left []Remainder
	for _, c := range counts {
		if c.Count == 0 {
			continue
		}
		at, ok := since[c.Store]
		if !ok {
			at = now
		}
		left = append(left, Remainder{Count: c, Since: at})
	}
	return left
}

// Queue is the task queue of the workflow and its activities.
const Queue = "mneme-erasure"

// Names known to the Temporal server.
const (
	WorkflowName = "mneme.erasure"
	SignalErased = "erased"
	// MemoProgress is the key of the Progress in the memo of a running erasure.
	MemoProgress = "progress"
)

// WorkflowID is the id of the workflow of an erasure. It contains the tenant, and a hash of the user and the
// request. The server keeps the id for its retention, longer than all other data of the user. The id is printable
// ASCII of bounded length.
func WorkflowID(scope memory.Scope, requestID string) string {
	return idPrefix(scope.Tenant) + digest(scope.User+"\x00"+requestID)
}

func idPrefix(tenant string) string { return "erasure/" + tenant + "/" }

// namedWorkflowID is the id that earlier versions gave to the workflow of an erasure.
func namedWorkflowID(scope memory.Scope, requestID string) string {
	return idPrefix(scope.Tenant) + url.PathEscape(scope.User) + "/" + digest(requestID)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// Params start the workflow. The signal SignalErased brings a consolidation.Erased: the bank that was emptied.
type Params struct {
	Scope     memory.Scope `json:"scope"`
	RequestID string       `json:"request_id"`
	// The other fields are carried over by continue-as-new; they are zero at the start.
	Erased    *consolidation.Erased `json:"erased,omitempty"`
	StartedAt time.Time             `json:"started_at,omitzero"`
	Rounds    int                   `json:"rounds,omitempty"`
	Deletions Deletions             `json:"deletions,omitempty"`
	Remaining []Remainder           `json:"remaining,omitempty"`
}

// Deletions record when the deletion of each workflow run was requested, by run id.
type Deletions map[string]time.Time

// Request names the data that a store erases or counts.
type Request struct {
	Scope memory.Scope `json:"scope"`
	// RequestID is the id of the erasure, and of its event. Empty means none in particular.
	RequestID string `json:"request_id,omitempty"`
	// RunID and StartedAt are the run of the user's workflow that erased the bank. A request covers the histories of this
	// run and of the runs that began before it. Empty means all runs.
	RunID     string    `json:"run_id,omitempty"`
	StartedAt time.Time `json:"started_at,omitzero"`
	// Deletions are the requests that the erasure has made so far. Histories adds its own.
	Deletions Deletions `json:"deletions,omitempty"`
	// Empty names the stores in which the last count found nothing. EraseStores leaves them alone.
	Empty []string `json:"empty,omitempty"`
	// Failed holds the failures of the last Erasing. CountStores counts none of these stores as empty.
	Failed map[string]string `json:"failed,omitempty"`
}

// Erasing is the result of Activities.EraseStores.
type Erasing struct {
	// Deletions are the deletions of the Request and the added ones.
	Deletions Deletions `json:"deletions,omitempty"`
	// Failed has the class of the error of each store that could not be erased, by the store's name.
	Failed map[string]string `json:"failed,omitempty"`
}

// Count is how much a store keeps of a user.
type Count struct {
	Store string `json:"store"`
	// Count is at least 1 where the store could not be erased or counted: an erasure is not proved then.
	Count int `json:"count"`
	// Error is the class of the error of a store that could not be erased or counted ("unavailable"). It holds no text of
	// the error.
	Error string `json:"error,omitempty"`
}

// Remainder is a store's remaining data of a user during an erasure.
type Remainder struct {
	Count
	// Since is when the first of the uninterrupted counts found something.
	Since time.Time `json:"since"`
}

// Progress is the progress of a running erasure. The workflow keeps it in its memo while it runs, so a list of
// workflows has it. The workflow removes it at the end.
type Progress struct {
	User      string `json:"user"`
	RequestID string `json:"request_id"`
	// StartedAt is when the bank was empty and the workflow began.
	StartedAt time.Time `json:"started_at"`
	// Rounds is how often the stores have been erased and counted.
	Rounds int `json:"rounds,omitempty"`
	// Remaining are the stores with data in the last count. It is empty before the first count, and after a first
	// empty count that the next count must confirm.
	Remaining []Remainder `json:"remaining,omitempty"`
}

// Report is the result of the workflow.
type Report struct {
	// Rounds is how often the stores were erased and counted.
	Rounds int `json:"rounds"`
	// DoneAt is when the last count found nothing.
	DoneAt time.Time `json:"done_at"`
}

// Store keeps data of users outside of bank and window. An erasure erases and counts every store of its list, and a
// scan counts it. Implementations are idempotent and safe for concurrent use.
type Store interface {
	// Name returns the name of the counted items, in the plural.
	Name() string
	// Erase removes the data from before the erasure. It may leave data that cannot be removed yet. It is then
	// called again.
	Erase(ctx context.Context, r Request) error
	// Count returns the remaining number of items that Erase removes.
	Count(ctx context.Context, r Request) (int, error)
}
