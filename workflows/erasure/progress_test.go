package erasure_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/workflows/consolidation"
	"github.com/mneme-memory/mneme/workflows/erasure"
)

// shown are the progresses that a run keeps in its memo; nil for none.
func shown(env *testsuite.TestWorkflowEnvironment) *[]any {
	var all []any
	env.OnUpsertMemo(mock.Anything).Return(nil).Run(func(args mock.Arguments) {
		all = append(all, args.Get(0).(map[string]any)[erasure.MemoProgress])
	})
	return &all
}

func TestARunShowsWhatItWaitsFor(t *testing.T) {
	slow, unavailable := &store{name: "slow", has: 3}, &store{name: "unavailable", has: 1, failures: 2}
	env := newRun(t, slow, unavailable)
	all := shown(env)
	signalAt(env, 0, erased("r1"))
	report(t, env, erasure.Params{Scope: ana, RequestID: "x1"})
	if len(*all) < 4 || (*all)[len(*all)-1] != nil {
		t.Fatalf("showed %v, and at last %v, want nothing", *all, (*all)[len(*all)-1])
	}
	first, second := (*all)[0].(erasure.Progress), (*all)[1].(erasure.Progress)
	if first.User != "ana" || first.RequestID != "x1" || first.Rounds != 1 || second.Rounds != 2 ||
		!first.StartedAt.Equal(start) {
		t.Errorf("showed %+v, %+v", first, second)
	}
	if got := first.Remaining; len(got) != 2 || got[0].Store != "slow" || got[0].Count.Count != 2 || got[0].Error != "" ||
		got[1].Store != "unavailable" || got[1].Error != "internal" {
		t.Errorf("showed %+v", got)
	}
	if a, b := first.Remaining[0].Since, second.Remaining[0].Since; a.IsZero() || !a.Equal(b) ||
		b.After(start.Add(time.Second)) {
		t.Errorf("found something since %v, then since %v", a, b)
	}
}

// A run that an earlier version began keeps nothing in its memo, so that it replays.
func TestARunOfAnEarlierVersionShowsNothing(t *testing.T) {
	env := newRun(t, &store{name: "slow", has: 3})
	env.OnGetVersion("show-progress", workflow.DefaultVersion, workflow.Version(1)).Return(workflow.DefaultVersion)
	all := shown(env)
	signalAt(env, 0, erased("r1"))
	report(t, env, erasure.Params{Scope: ana, RequestID: "x1"})
	if len(*all) > 0 {
		t.Errorf("showed %v", *all)
	}
}

// A store that cannot be counted is not proved to be empty.
func TestAnErasureWaitsForAStoreThatCannotBeCounted(t *testing.T) {
	s := &store{name: "s", uncounted: 3}
	env := newRun(t, s)
	all := shown(env)
	signalAt(env, 0, erased("r1"))
	got := report(t, env, erasure.Params{Scope: ana, RequestID: "x1"})
	if got.Rounds != 5 || (*all)[0].(erasure.Progress).Remaining[0].Error != "internal" {
		t.Errorf("%d rounds, want 5; showed %v", got.Rounds, *all)
	}
}

// A store with a failed erasure is not proved to be empty, even if its count is 0. It is erased again.
func TestAnErasureWaitsForAStoreThatCannotBeErased(t *testing.T) {
	s := &store{name: "s", failures: 3}
	env := newRun(t, s)
	all := shown(env)
	signalAt(env, 0, erased("r1"))
	got := report(t, env, erasure.Params{Scope: ana, RequestID: "x1"})
	if got.Rounds != 5 || s.erased != 1 || len(s.asked) != 4 {
		t.Errorf("%d rounds, want 5; %d erasures of %d have succeeded, want 1 of 4", got.Rounds, s.erased, len(s.asked))
	}
	want := erasure.Count{Store: "s", Count: 1, Error: "internal"}
	if left := (*all)[0].(erasure.Progress).Remaining; len(left) != 1 || left[0].Count != want {
		t.Errorf("showed %+v, want %+v", left, want)
	}
}

// A store with an empty count is not erased in every round, only counted.
func TestAnEmptyStoreIsErasedOnce(t *testing.T) {
	empty := &store{name: "empty"}
	env := newRun(t, &store{name: "slow", has: 5}, empty)
	signalAt(env, 0, erased("r1"))
	if got := report(t, env, erasure.Params{Scope: ana, RequestID: "x1"}); len(empty.asked) != 1 ||
		empty.counted != got.Rounds {
		t.Errorf("erased %d times, want once; counted %d times in %d rounds", len(empty.asked), empty.counted, got.Rounds)
	}
}

// The pause before the last count is long only where the list of runs may lag behind.
func TestTheLastPauseIsShortWhenTheListOfRunsIsComplete(t *testing.T) {
	for name, c := range map[string]struct{ before, want time.Duration }{
		"a run that began long ago": {time.Minute, time.Second},
		"a run that has just begun": {0, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			env := newRun(t, &store{name: "s"})
			e := erased("r1")
			e.StartedAt = start.Add(-c.before)
			signalAt(env, 0, e)
			got := report(t, env, erasure.Params{Scope: ana, RequestID: "x1"}).DoneAt.Sub(start)
			if got < c.want || got > c.want+500*time.Millisecond {
				t.Errorf("proved after %v, want %v", got, c.want)
			}
		})
	}
}

func TestIDsOfErasuresDoNotNameTheUser(t *testing.T) {
	s := &slowServer{}
	starter := erasure.Starter{Client: s.dial(t)}
	scope := memory.Scope{Tenant: "acme", User: "ana@example.org"}
	if err := starter.Begin(t.Context(), consolidation.Erased{Scope: scope, RequestID: "x1"}); err != nil {
		t.Fatal(err)
	}
	if id := s.started[0].GetWorkflowId(); strings.Contains(id, "ana") || id != erasure.WorkflowID(scope, "x1") {
		t.Errorf("the workflow is %q", id)
	}
}

// info is a workflow of an erasure that runs.
func info(t *testing.T, id string, began time.Time, p *erasure.Progress) *workflowpb.WorkflowExecutionInfo {
	t.Helper()
	out := &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: id}, StartTime: timestamppb.New(began),
		Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
	}
	if p != nil {
		payload, err := consolidation.DataConverter().ToPayload(p)
		if err != nil {
			t.Fatal(err)
		}
		out.Memo = &commonpb.Memo{Fields: map[string]*commonpb.Payload{erasure.MemoProgress: payload}}
	}
	return out
}

func waitsFor(user string, began time.Time, stores ...string) *erasure.Progress {
	p := &erasure.Progress{User: user, RequestID: "x-" + user, StartedAt: began, Rounds: 3}
	for _, s := range stores {
		p.Remaining = append(p.Remaining, erasure.Remainder{Count: erasure.Count{Store: s, Count: 1}, Since: began})
	}
	return p
}

// Erasures that an earlier version began are found by the id that it gave them.
func TestAnErasureIsFoundByEitherID(t *testing.T) {
	for name, id := range map[string]string{
		"of this version": erasure.WorkflowID(ana, "x1"), "of an earlier version": erasure.NamedWorkflowID(ana, "x1"),
	} {
		t.Run(name, func(t *testing.T) {
			s := &slowServer{}
			starter := erasure.Starter{Client: s.dial(t)}
			if got, err := starter.Ask(t.Context(), ana, "x1"); err != nil || got.State != erasure.Pending {
				t.Fatalf("before: %+v, %v", got, err)
			}
			s.runs[id] = &run{info: info(t, id, start, waitsFor("ana", start, "dead letters"))}
			got, err := starter.Ask(t.Context(), ana, "x1")
			if err != nil || got.State != erasure.Running || !got.StartedAt.Equal(start) ||
				len(got.Progress.Remaining) != 1 || got.Progress.Remaining[0].Store != "dead letters" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestRunningErasuresAreListedOldestFirst(t *testing.T) {
	s := &slowServer{}
	starter := erasure.Starter{Client: s.dial(t)}
	s.listed = []*workflowpb.WorkflowExecutionInfo{
		info(t, "erasure/acme/2", start.Add(time.Hour), waitsFor("ben", start.Add(time.Minute), "dead letters")),
		info(t, "erasure/acme/1", start, nil),
	}
	got, more, err := starter.List(t.Context(), "acme")
	if err != nil || more || len(got) != 2 || !got[0].StartedAt.Equal(start) || got[0].Progress.User != "" ||
		got[1].Progress.User != "ben" || !got[1].StartedAt.Equal(start.Add(time.Minute)) {
		t.Errorf("listed %+v, %t, %v", got, more, err)
	}
	if want := `WorkflowType = "mneme.erasure" AND ExecutionStatus = "Running" AND WorkflowId STARTS_WITH "erasure/acme/"`; s.query != want {
		t.Errorf("asked for %s", s.query)
	}
}

// many are more running erasures than are listed, in the order of the server: the newest run first. The erasure of the
// first has run for the longest, and was continued as new just now.
func many(t *testing.T, now time.Time) []*workflowpb.WorkflowExecutionInfo {
	t.Helper()
	out := make([]*workflowpb.WorkflowExecutionInfo, 2*erasure.MaxListed+listPage)
	for i := range out {
		began := now.Add(-time.Duration(i) * time.Second)
		out[i] = info(t, strconv.Itoa(i), began, waitsFor(fmt.Sprint("user-", i), began, "dead letters"))
	}
	out[0] = info(t, "0", now, waitsFor("oldest", now.Add(-24*time.Hour), "dead letters"))
	return out
}

func TestTheOldestErasuresAreListedWhereThereAreMany(t *testing.T) {
	s := &slowServer{}
	starter := erasure.Starter{Client: s.dial(t)}
	s.listed = many(t, start)
	got, more, err := starter.List(t.Context(), "acme")
	if err != nil || !more || len(got) != erasure.MaxListed {
		t.Fatalf("listed %d, more %t, %v, want the oldest %d, and more", len(got), more, err, erasure.MaxListed)
	}
	if got[0].Progress.User != "oldest" || got[1].Progress.User != fmt.Sprint("user-", len(s.listed)-1) {
		t.Errorf("the first are %s and %s", got[0].Progress.User, got[1].Progress.User)
	}
	if !slices.IsSortedFunc(got, func(a, b erasure.Status) int { return a.StartedAt.Compare(b.StartedAt) }) {
		t.Error("they are not in the order of their start")
	}
}

func TestWaitingErasuresAreMeasuredByStore(t *testing.T) {
	now := time.Now()
	count, age := measured(t, []*workflowpb.WorkflowExecutionInfo{
		info(t, "1", now, waitsFor("ana", now.Add(-time.Hour), "dead letters", "workflow histories")),
		info(t, "2", now, waitsFor("ben", now.Add(-time.Minute), "dead letters")),
		info(t, "3", now, waitsFor("cem", now)),
	})
	if count["dead letters"] != 2 || count["workflow histories"] != 1 || count["scan"] != 1 || len(count) != 3 {
		t.Errorf("counted %v", count)
	}
	if age["dead letters"] < 3600 || age["workflow histories"] < 3600 || age["scan"] > 60 {
		t.Errorf("the oldest are %v", age)
	}
}

func TestAllWaitingErasuresAreMeasuredWhereThereAreMany(t *testing.T) {
	running := many(t, time.Now())
	count, age := measured(t, running)
	if n := count["dead letters"]; n != int64(len(running)) || age["dead letters"] < 24*3600 {
		t.Errorf("counted %d of %d, the oldest of %d s, want one of a day", n, len(running), age["dead letters"])
	}
}

// measured are the metrics of running erasures, by store.
func measured(t *testing.T, running []*workflowpb.WorkflowExecutionInfo) (count, age map[string]int64) {
	t.Helper()
	s, reader := &slowServer{}, sdkmetric.NewManualReader()
	starter := erasure.Starter{Client: s.dial(t)}
	s.listed = running
	w, err := erasure.NewWatch(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("test"), starter,
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	w.Look(t.Context())
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]int64{}
	for _, m := range data.ScopeMetrics[0].Metrics {
		got[m.Name] = map[string]int64{}
		for _, p := range m.Data.(metricdata.Gauge[int64]).DataPoints {
			store, _ := p.Attributes.Value(erasure.AttrStore)
			got[m.Name][store.AsString()] = p.Value
		}
	}
	return got[erasure.MetricWaiting], got[erasure.MetricAge]
}
