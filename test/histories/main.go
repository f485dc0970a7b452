// Command histories runs the workflows through typical scenarios on a real Temporal server and writes their
// histories. Replay tests compare the code with these histories. `make histories` runs it. It never changes existing
// files, because a history of older code is worth keeping.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/test/histories/recorder"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// life is a scenario of a user.
type life struct {
	name    string
	signals [][]consolidation.Event
	// retract is an entry to retract. edit is an entry to replace by a new version. refused means that the request
	// fails for good.
	retract, edit string
	refused       bool
	// failures is the number of failures of extract before it succeeds, each with errorType.
	failures  int
	errorType string
}

func lives() []life {
	return []life{
		{name: "closed-session", signals: [][]consolidation.Event{{turn("s1", 1), turn("s1", 2)},
			{turn("s1", 3), closed("s1")}}},
		{name: "two-sessions-in-chunks", signals: [][]consolidation.Event{
			{turn("a", 1), turn("b", 1), turn("a", 2), turn("a", 3), turn("a", 4), turn("a", 5), closed("b"), closed("a"),
				closed("a")},
		}},
		{name: "open-session-idles", signals: [][]consolidation.Event{{turn("s1", 1)}}},
		{name: "session-idles-out", signals: [][]consolidation.Event{
			{idles(turn("s1", 1), time.Second), idles(turn("s2", 1), 4*time.Second), idles(turn("s3", 1), time.Minute),
				closed("s3")},
		}},
		{name: "retraction", retract: "m1"},
		{name: "refused-retraction", retract: "m1", refused: true, signals: [][]consolidation.Event{{turn("s1", 1)}}},
		{name: "edit", edit: "m1", signals: [][]consolidation.Event{{turn("s1", 1)}}},
		{name: "refused-edit", edit: "m1", refused: true},
		{name: "erasure", signals: [][]consolidation.Event{{turn("old", 1), closed("old"), {ID: "x1", Erase: true}}}},
		{name: "unusable-answers", failures: 2, errorType: "malformed", signals: [][]consolidation.Event{
			{turn("bad", 1), closed("bad")}, {turn("good", 1), closed("good")},
		}},
		{name: "searches-before-it-decides", signals: [][]consolidation.Event{{turn("ask", 1), closed("ask")}}},
		{name: "context-of-dropped-turns", signals: [][]consolidation.Event{
			{aside("alone", 1), aside("s1", 1), turn("s1", 2)}, {aside("s1", 3), closed("s1")},
		}},
		{name: "refused-for-good", failures: 1, errorType: "terminal", signals: [][]consolidation.Event{
			{turn("bad", 1), closed("bad"), closed("next")},
		}},
	}
}

func main() {
	out := flag.String("out", "workflows", "folder of the workflows, below which the histories are written")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var all []recorder.Life
	for _, l := range lives() {
		all = append(all, recorder.Life{Workflow: "consolidation", Name: l.name, Version: "v1",
			Live: func(ctx context.Context,
				c client.Client) (*historypb.History, error) {
				return live(ctx, c, l)
			}})
	}
	for _, l := range erasures() {
		all = append(all, recorder.Life{Workflow: "erasure", Name: l.name, Version: "v2", Live: l.live})
	}
	err := recorder.Record(ctx, *out, all)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// live runs a workflow through a scenario and returns its history.
func live(ctx context.Context, c client.Client, l life) (*historypb.History, error) {
	steps := &steps{failures: l.failures, errorType: l.errorType, refused: l.refused}
	var workers []worker.Worker
	for _, queue := range []string{consolidation.QueueWorkflow, consolidation.QueueModel, consolidation.QueueStore} {
		w := worker.New(c, queue, worker.Options{Identity: "recorder"})
		consolidation.Register(w)
		w.RegisterActivity(steps)
		if err := w.Start(); err != nil {
			return nil, err
		}
		workers = append(workers, w)
	}
	defer func() {
		for _, w := range workers {
			w.Stop()
		}
	}()
	scope := memory.Scope{Tenant: "recorded", User: l.name}
	starter := consolidation.Starter{Client: c, Tuning: consolidation.Tuning{
		MaxTurns: 4, Idle: 2 * time.Second, Linger: time.Second, MalformedAttempts: 2,
	}}
	p := consolidation.Params{Scope: scope, Strategy: "salimory", Policy: "embedded"}
	for _, events := range l.signals {
		if err := starter.Signal(ctx, p, events); err != nil {
			return nil, err
		}
	}
	if l.retract != "" {
		err := starter.Retract(ctx, p, consolidation.Retraction{ID: "r-" + l.retract, MemoryID: l.retract})
		if fault.IsTerminal(err) != l.refused || (err != nil && !l.refused) {
			return nil, fmt.Errorf("the retraction ended with %w", err)
		}
	}
	if l.edit != "" {
		err := starter.Edit(ctx, p, consolidation.Edit{ID: "e-" + l.edit, MemoryID: l.edit, Turn: *turn("told", 1).Turn})
		if fault.IsTerminal(err) != l.refused || (err != nil && !l.refused) {
			return nil, fmt.Errorf("the edit ended with %w", err)
		}
	}
	id := consolidation.WorkflowID(scope)
	if err := c.GetWorkflow(ctx, id, "").Get(ctx, nil); err != nil {
		return nil, err
	}
	return recorder.Fetch(ctx, c, id, "")
}

// steps replace the activities. A history contains the activities' inputs and results.
type steps struct {
	failures  int
	errorType string
	refused   bool
}

func (s *steps) Extract(_ context.Context, b consolidation.Batch) (consolidation.Extracted, error) {
	if b.SessionID == "bad" && s.failures > 0 {
		s.failures--
		return consolidation.Extracted{}, temporal.NewApplicationError("recorded failure", s.errorType)
	}
	return consolidation.Extracted{}, nil
}

func (*steps) Relate(context.Context, consolidation.RelateInput) (consolidation.Neighbourhood, error) {
	return consolidation.Neighbourhood{}, nil
}

func (*steps) Decide(_ context.Context, in consolidation.DecideInput) (consolidation.Decided, error) {
	if in.Batch.SessionID == "ask" && len(in.Neighbourhood.Pool) < 2 {
		return consolidation.Decided{Lookups: []formation.Lookup{{Text: "home"}}, Memo: json.RawMessage(`{"round":1}`)}, nil
	}
	return consolidation.Decided{}, nil
}

func (*steps) Search(_ context.Context, in consolidation.SearchInput) (consolidation.SearchResult, error) {
	id := fmt.Sprint("m", time.Now().UnixNano())
	near := [][]consolidation.Neighbour{{{Pool: 0, Similarity: 1}}}
	return consolidation.SearchResult{Pool: []memory.Memory{{ID: id}}, Near: near}, nil
}

func (s *steps) Retract(context.Context, consolidation.RetractInput) error {
	if s.refused {
		return temporal.NewNonRetryableApplicationError("recorded refusal", "terminal", nil)
	}
	return nil
}

func (s *steps) Edit(_ context.Context, in consolidation.EditInput) (consolidation.Decided, error) {
	if s.refused {
		return consolidation.Decided{}, temporal.NewNonRetryableApplicationError("recorded refusal", "terminal", nil)
	}
	return consolidation.Decided{Write: memory.Write{Put: []memory.Memory{{ID: in.EntryID(in.Scope),
		Content: in.Turn.Text}}}}, nil
}

func (*steps) Apply(context.Context, consolidation.ApplyInput) error           { return nil }
func (*steps) DeadLetter(context.Context, consolidation.DeadLetterInput) error { return nil }
func (*steps) Erase(context.Context, consolidation.EraseInput) error           { return nil }

func turn(session string, n int) consolidation.Event {
	id := fmt.Sprintf("%s:%d", session, n)
	return consolidation.Event{ID: "e-" + id, SessionID: session, Turn: &memory.Turn{
		ID: id, SessionID: session, Speaker: "Ana", Role: memory.RoleUser, Text: "I live in Porto.",
		Time: epoch.Add(time.Duration(n) * time.Second),
	}}
}

// aside is a turn that the model only reads.
func aside(session string, n int) consolidation.Event {
	e := turn(session, n)
	e.Context = true
	return e
}

// idles is an event whose session closes after the given time without another event.
func idles(e consolidation.Event, after time.Duration) consolidation.Event {
	e.IdleAfter = after
	return e
}

func closed(session string) consolidation.Event {
	return consolidation.Event{ID: "close-" + session, SessionID: session, ClosedAt: epoch.Add(time.Hour)}
}
