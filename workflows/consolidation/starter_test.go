package consolidation_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	querypb "go.temporal.io/api/query/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// server is a client of a Temporal server with scripted answers.
type server struct {
	client.Client
	started error
	ended   func(context.Context) error
	answer  *client.QueryWorkflowWithOptionsResponse
	err     error
	updates []client.UpdateWorkflowOptions
	asked   *client.QueryWorkflowWithOptionsRequest
	// absent is the number of signals that find no run. begun has the inputs of new runs, and signals counts signals.
	absent, signals int
	begun           [][]any
}

func (s *server) SignalWorkflow(_ context.Context, _, _, _ string, _ any) error {
	if s.signals++; s.signals <= s.absent {
		return serviceerror.NewNotFound("no such run")
	}
	return s.err
}

func (s *server) ExecuteWorkflow(
	_ context.Context, _ client.StartWorkflowOptions, _ any, in ...any,
) (client.WorkflowRun, error) {
	s.begun = append(s.begun, in)
	return nil, s.started
}

func (s *server) NewWithStartWorkflowOperation(
	client.StartWorkflowOptions, any, ...any,
) client.WithStartWorkflowOperation {
	return nil
}

func (s *server) UpdateWithStartWorkflow(
	_ context.Context, o client.UpdateWithStartWorkflowOptions,
) (client.WorkflowUpdateHandle, error) {
	s.updates = append(s.updates, o.UpdateOptions)
	return update{ended: s.ended}, s.started
}

func (s *server) QueryWorkflowWithOptions(
	_ context.Context, q *client.QueryWorkflowWithOptionsRequest,
) (*client.QueryWorkflowWithOptionsResponse, error) {
	s.asked = q
	return s.answer, s.err
}

// update is an accepted update.
type update struct {
	client.WorkflowUpdateHandle
	ended func(context.Context) error
}

func (u update) Get(ctx context.Context, _ any) error { return u.ended(ctx) }

func TestARunBeginsWithoutEvents(t *testing.T) {
	unreachable := serviceerror.NewUnavailable("connection refused")
	for name, c := range map[string]struct {
		server  server
		signals int
		ok      bool
	}{
		"it runs":                   {server{}, 1, true},
		"it does not run":           {server{absent: 1}, 2, true},
		"it ends before the signal": {server{absent: 3}, 4, true},
		"it always ends":            {server{absent: 99}, 6, false},
		"nobody takes the signal":   {server{err: unreachable}, 1, false},
		"nobody begins a run":       {server{absent: 99, started: unreachable}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			text := []consolidation.Event{turn("s1", 1)}
			err := consolidation.Starter{Client: &c.server}.Signal(t.Context(), params(), text)
			if (err == nil) != c.ok || c.server.signals != c.signals {
				t.Errorf("got %v after %d signals", err, c.server.signals)
			}
			for _, in := range c.server.begun {
				if p, ok := in[0].(consolidation.Params); !ok || len(in) != 1 ||
					!reflect.DeepEqual(p.State, consolidation.State{}) {
					t.Errorf("a run begins with %+v", in)
				}
			}
		})
	}
}

func TestTheRunOfANewUserBeginsBeforeTheSignal(t *testing.T) {
	var c server
	s := consolidation.NewStarter(&c, consolidation.Tuning{})
	signal := func() {
		t.Helper()
		if err := s.Signal(t.Context(), params(), []consolidation.Event{turn("s1", 1)}); err != nil {
			t.Fatal(err)
		}
	}
	signal()
	if len(c.begun) != 1 || c.signals != 1 {
		t.Errorf("a new user costs %d starts and %d signals", len(c.begun), c.signals)
	}
	signal()
	if len(c.begun) != 1 || c.signals != 2 {
		t.Errorf("a known user costs another start: %d starts and %d signals", len(c.begun), c.signals)
	}
	c.absent = 3 // the run has ended
	signal()
	if len(c.begun) != 2 || c.signals != 4 {
		t.Errorf("an ended run costs %d starts and %d signals", len(c.begun), c.signals)
	}
}

func TestHowARequestEnds(t *testing.T) {
	in, edit := consolidation.Retraction{ID: "r1", MemoryID: "m1"}, consolidation.Edit{ID: "e1", MemoryID: "m1"}
	ends := func(err error) func(context.Context) error { return func(context.Context) error { return err } }
	unreachable := serviceerror.NewUnavailable("connection refused")
	for name, c := range map[string]struct {
		server server
		want   func(error) bool
	}{
		"done": {server{ended: ends(nil)}, func(err error) bool { return err == nil }},
		"refused": {server{ended: ends(temporal.NewApplicationError("embedding mismatch", "terminal"))},
			func(err error) bool { return fault.IsTerminal(err) && err.Error() == "embedding mismatch" }},
		"the run ended before it answered": {
			server{ended: ends(temporal.NewApplicationError("workflow completed", "AcceptedUpdateCompletedWorkflow"))},
			func(err error) bool { return !fault.IsTerminal(err) && errors.Is(err, fault.ErrUnavailable) }},
		"the run was ended from outside": {server{ended: ends(errors.New("workflow terminated"))},
			func(err error) bool { return !fault.IsTerminal(err) && errors.Is(err, fault.ErrUnavailable) }},
		"nobody takes it": {server{started: unreachable}, func(err error) bool { return errors.Is(err, unreachable) }},
		"the time is up": {server{ended: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
			func(err error) bool { return errors.Is(err, consolidation.ErrPending) }},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			if err := (consolidation.Starter{Client: &c.server}).Retract(ctx, params(), in); !c.want(err) {
				t.Errorf("got %v", err)
			}
			edits, done := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer done()
			if err := (consolidation.Starter{Client: &c.server}).Edit(edits, params(), edit); !c.want(err) {
				t.Errorf("an edit gives %v", err)
			}
			if o := c.server.updates; len(o) != 2 || o[0].UpdateName != "retract" || o[0].UpdateID != "r1" ||
				o[1].UpdateName != "edit" ||
				o[1].UpdateID != "e1" {
				t.Errorf("asked for %+v", o)
			}
		})
	}
}

func TestWhetherTurnsWait(t *testing.T) {
	answer := func(waits bool) *client.QueryWorkflowWithOptionsResponse {
		payloads, err := converter.GetDefaultDataConverter().ToPayloads(waits)
		if err != nil {
			t.Fatal(err)
		}
		return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}
	}
	none := func(err error) bool { return err == nil }
	for name, c := range map[string]struct {
		server server
		waits  bool
		ok     func(error) bool
	}{
		"they wait":  {server{answer: answer(true)}, true, none},
		"none waits": {server{answer: answer(false)}, false, none},
		"the workflow ended": {
			server{answer: &client.QueryWorkflowWithOptionsResponse{QueryRejected: &querypb.QueryRejected{}}}, false, none,
		},
		"there never was one": {server{err: serviceerror.NewNotFound("no such workflow")}, false, none},
		"it is about to begin": {server{err: serviceerror.NewWorkflowNotReady("workflow task is not scheduled yet")}, true,
			none},
		"nobody works": {server{err: serviceerror.NewFailedPrecondition("no poller seen for task queue recently")}, false,
			func(err error) bool { return errors.Is(err, fault.ErrUnavailable) }},
		"the question is unknown": {server{err: serviceerror.NewQueryFailed("unknown queryType")}, false,
			func(err error) bool { return err != nil && !errors.Is(err, fault.ErrUnavailable) }},
	} {
		t.Run(name, func(t *testing.T) {
			waits, err := consolidation.Starter{Client: &c.server}.Waits(t.Context(), owner, "s1")
			if waits != c.waits || !c.ok(err) {
				t.Errorf("got %t, %v", waits, err)
			}
			if q := c.server.asked; q.WorkflowID != consolidation.WorkflowID(owner) || len(q.Args) != 1 || q.Args[0] != "s1" {
				t.Errorf("asked %+v", q)
			}
		})
	}
}
