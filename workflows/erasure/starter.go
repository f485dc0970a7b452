package erasure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// Starter begins erasures and reads their state, through a client of consolidation.ClientOptions.
type Starter struct{ Client client.Client }

var _ consolidation.Erasures = Starter{}

// Begin implements consolidation.Erasures. A request that comes again signals the workflow of the first.
func (s Starter) Begin(ctx context.Context, e consolidation.Erased) error {
	id := WorkflowID(e.Scope, e.RequestID)
	_, err := s.Client.SignalWithStartWorkflow(ctx, id, SignalErased, e, client.StartWorkflowOptions{
		ID: id, TaskQueue: Queue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		Memo: map[string]any{MemoProgress: Progress{User: e.Scope.User, RequestID: e.RequestID, StartedAt: time.Now()}},
	}, WorkflowName, Params{Scope: e.Scope, RequestID: e.RequestID})
	return fault.During("begin erasure", err)
}

// State is how far an erasure is.
type State int

// The states of an erasure.
const (
	// Pending erasures wait for the user's writer, or are not known.
	Pending State = iota
	// Running erasures have emptied the bank.
	Running
	// Done erasures have found nothing left.
	Done
)

// Status is the state of an erasure.
type Status struct {
	State State
	// StartedAt is when a running erasure had emptied the bank.
	StartedAt time.Time
	// Progress is the progress of a running erasure.
	Progress Progress
	// Report is the report of a finished erasure.
	Report Report
}

// ErrEnded says that an erasure was ended from outside before it found nothing left.
var ErrEnded = errors.New("the erasure ended before its proof: request a new one")

// Ask returns the status of an erasure.
func (s Starter) Ask(ctx context.Context, scope memory.Scope, requestID string) (Status, error) {
	status, err := s.ask(ctx, WorkflowID(scope, requestID))
	if err == nil && status.State == Pending {
		return s.ask(ctx, namedWorkflowID(scope, requestID))
	}
	return status, err
}

func (s Starter) ask(ctx context.Context, id string) (Status, error) {
	found, err := s.Client.DescribeWorkflowExecution(ctx, id, "")
	if isAbsent(err) {
		return Status{}, nil
	}
	if err != nil {
		return Status{}, fmt.Errorf("ask for erasure: %w", err)
	}
	info := found.GetWorkflowExecutionInfo()
	switch info.GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		return running(info)
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		status := Status{State: Done}
		if err := s.Client.GetWorkflow(ctx, id, info.GetExecution().GetRunId()).Get(ctx, &status.Report); err != nil {
			return Status{}, fmt.Errorf("ask for erasure: %w", err)
		}
		return status, nil
	default:
		return Status{}, ErrEnded
	}
}

// running reads the status of a workflow that runs. One of an earlier version shows no progress.
func running(info *workflowpb.WorkflowExecutionInfo) (Status, error) {
	status := Status{State: Running, StartedAt: info.GetStartTime().AsTime()}
	if shown := info.GetMemo().GetFields()[MemoProgress]; shown != nil {
		if err := consolidation.DataConverter().FromPayload(shown, &status.Progress); err != nil {
			return Status{}, fmt.Errorf("read the progress of an erasure: %w", err)
		}
		status.StartedAt = status.Progress.StartedAt
	}
	return status, nil
}

// MaxListed is how many erasures List returns at most.
const MaxListed = 1000

// List returns the running erasures of a tenant, in the order of their start. An empty tenant means all tenants. It
// also reports whether there are more than MaxListed. In that case it returns the oldest. The server's list of
// workflows lags by seconds.
func (s Starter) List(ctx context.Context, tenant string) (found []Status, more bool, err error) {
	keepOldest := func() {
		slices.SortFunc(found, func(a, b Status) int { return a.StartedAt.Compare(b.StartedAt) })
		more = more || len(found) > MaxListed
		found = found[:min(len(found), MaxListed)]
	}
	err = s.each(ctx, tenant, func(running Status) {
		if found = append(found, running); len(found) >= 2*MaxListed {
			keepOldest()
		}
	})
	if err != nil {
		return nil, false, err
	}
	keepOldest()
	return found, more, nil
}

// each calls see for every running erasure. An empty tenant means all tenants. It reads the server's whole list.
// The server orders the list by the start of runs, and an erasure that continues in a new run starts anew there.
func (s Starter) each(ctx context.Context, tenant string, see func(Status)) error {
	query := "WorkflowType = " + strconv.Quote(WorkflowName) + ` AND ExecutionStatus = "Running"`
	if tenant != "" {
		query += " AND WorkflowId STARTS_WITH " + strconv.Quote(idPrefix(tenant))
	}
	for token := []byte(nil); ; {
		page, err := s.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query,
			NextPageToken: token})
		if err != nil {
			return fmt.Errorf("list erasures: %w", err)
		}
		for _, info := range page.GetExecutions() {
			status, err := running(info)
			if err != nil {
				return err
			}
			see(status)
		}
		if token = page.GetNextPageToken(); len(token) == 0 {
			return nil
		}
	}
}

func isAbsent(err error) bool {
	var absent *serviceerror.NotFound
	return errors.As(err, &absent)
}

// Metrics of the running erasures of all tenants, by AttrStore. An erasure counts for each store that still holds
// something.
const (
	MetricWaiting = "mneme.erasure.waiting"
	MetricAge     = "mneme.erasure.waiting.age"
)

// AttrStore is the store that an erasure waits for; storeScan where it waits for its next count.
const AttrStore = attribute.Key("mneme.store")

const storeScan = "scan"

// watchInterval is the pause between two looks at the running erasures; listTimeout bounds one.
const watchInterval, listTimeout = 30 * time.Second, 10 * time.Second

// Watch measures how many erasures wait, for which stores, and since when.
type Watch struct {
	erasures   Starter
	log        *slog.Logger
	waiting    metric.Int64ObservableGauge
	age        metric.Int64ObservableGauge
	registered metric.Registration
	seen       atomic.Pointer[map[string]waiting]
}

// waiting are the erasures that wait for a store.
type waiting struct {
	count  int64
	oldest time.Time
}

// NewWatch makes the instruments. They measure nothing before Run.
func NewWatch(meter metric.Meter, erasures Starter, log *slog.Logger) (*Watch, error) {
	w := &Watch{erasures: erasures, log: log}
	var errs [3]error
	w.waiting, errs[0] = meter.Int64ObservableGauge(MetricWaiting, metric.WithUnit("{erasure}"),
		metric.WithDescription("Running erasures, by the store that still holds something."))
	w.age, errs[1] = meter.Int64ObservableGauge(MetricAge, metric.WithUnit("s"),
		metric.WithDescription("Time since the oldest of them began, by the store that still holds something."))
	w.registered, errs[2] = meter.RegisterCallback(w.observe, w.waiting, w.age)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("make metrics of erasures: %w", err)
	}
	return w, nil
}

// Run looks at the running erasures until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		w.look(ctx)
		select {
		case <-ctx.Done():
			return w.registered.Unregister()
		case <-tick.C:
		}
	}
}

// look replaces the previous values. There is no measurement while the server is not available.
func (w *Watch) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	seen := map[string]waiting{}
	err := w.erasures.each(ctx, "", func(e Status) {
		for _, store := range e.stores() {
			at := seen[store]
			if at.count++; at.oldest.IsZero() || e.StartedAt.Before(at.oldest) {
				at.oldest = e.StartedAt
			}
			seen[store] = at
		}
	})
	if err != nil {
		w.seen.Store(nil)
		if !errors.Is(err, context.Canceled) {
			w.log.WarnContext(ctx, "cannot list running erasures", "error", err)
		}
		return
	}
	w.seen.Store(&seen)
}

// stores are the stores that a running erasure waits for.
func (s Status) stores() []string {
	if len(s.Progress.Remaining) == 0 {
		return []string{storeScan}
	}
	names := make([]string, len(s.Progress.Remaining))
	for i, r := range s.Progress.Remaining {
		names[i] = r.Store
	}
	return names
}

func (w *Watch) observe(_ context.Context, o metric.Observer) error {
	seen := w.seen.Load()
	if seen == nil {
		return nil
	}
	for store, at := range *seen {
		by := metric.WithAttributes(AttrStore.String(store))
		o.ObserveInt64(w.waiting, at.count, by)
		o.ObserveInt64(w.age, int64(time.Since(at.oldest).Seconds()), by)
	}
	return nil
}
