package consolidation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// asker searches the bank a given number of times before it decides. Each time it looks up two texts: one common
// text, and one new text.
type asker struct {
	searches int
	seen     []consolidation.DecideInput
}

func (a *asker) Decide(_ context.Context, in consolidation.DecideInput) (consolidation.Decided, error) {
	a.seen = append(a.seen, in)
	round := len(a.seen)
	if round > a.searches {
		return consolidation.Decided{Write: memory.Write{Retire: []string{fmt.Sprint("after ", round)}}}, nil
	}
	return consolidation.Decided{
		Lookups: []formation.Lookup{{Text: "always"}, {Text: fmt.Sprint("round ", round)}},
		Memo:    json.RawMessage(fmt.Sprint(round)),
	}, nil
}

func (a *asker) Search(_ context.Context, in consolidation.SearchInput) (consolidation.SearchResult, error) {
	out := consolidation.SearchResult{}
	for i, l := range in.Lookups {
		out.Pool = append(out.Pool, memory.Memory{ID: l.Text})
		out.Near = append(out.Near, []consolidation.Neighbour{{Pool: i, Similarity: 0.5}})
	}
	return out, nil
}

func search(t *testing.T, searches int) (*asker, *steps) {
	t.Helper()
	env, s := newRun(t)
	a := &asker{searches: searches}
	env.RegisterActivityWithOptions(a.Decide, activity.RegisterOptions{Name: "Decide",
		DisableAlreadyRegisteredCheck: true})
	env.RegisterActivityWithOptions(a.Search, activity.RegisterOptions{Name: "Search"})
	env.RegisterDelayedCallback(func() {
		env.SignalWorkflow(consolidation.SignalEvents,
			consolidation.Signal{Events: []consolidation.Event{turn("s1", 1), closed("s1")}})
	}, 0)
	env.ExecuteWorkflow(consolidation.WorkflowName, params())
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	return a, s
}

func TestAFormerGetsWhatItSearchedFor(t *testing.T) {
	a, s := search(t, 2)
	if len(a.seen) != 3 || len(s.applied) != 1 || s.applied[0].Decided.Write.Retire[0] != "after 3" {
		t.Fatalf("asked %d times, applied %+v", len(a.seen), s.applied)
	}
	last := a.seen[2]
	if string(a.seen[0].Memo) != "" || string(last.Memo) != "2" || len(last.Found) != 2 {
		t.Errorf("memo %q, found %+v", last.Memo, last.Found)
	}
	var pool []string
	for _, m := range last.Neighbourhood.Pool {
		pool = append(pool, m.ID)
	}
	if got := strings.Join(pool, "|"); got != "always|round 1|round 2" {
		t.Errorf("the pool holds %s, want each entry once", got)
	}
	if last.Found[0][0].Pool != 0 || last.Found[1][0].Pool != 2 || last.Found[1][0].Similarity != 0.5 {
		t.Errorf("found %+v", last.Found)
	}
}

func TestAFormerThatNeverDecidesGoesToTheDeadLetters(t *testing.T) {
	a, s := search(t, 1000)
	if len(s.deadLetters) != 1 || !strings.Contains(s.deadLetters[0].Reason, "no decision") || len(s.applied) != 0 {
		t.Errorf("dead letters %+v after %d questions", s.deadLetters, len(a.seen))
	}
}

// A batch of an ended session is larger than a batch of an open session.
func TestAnEndedSessionIsTakenInLargerParts(t *testing.T) {
	env, s := newRun(t)
	p := params()
	p.Tuning.BatchTurns = 8
	var events []consolidation.Event
	for n := 1; n <= 10; n++ {
		events = append(events, turn("ended", n))
	}
	signals(env, append(events, closed("ended"), turn("open", 1), turn("open", 2), turn("open", 3), turn("open", 4)))
	finish(t, env, p)
	var sizes []int
	for _, ids := range s.turnsOf() {
		sizes = append(sizes, len(ids))
	}
	if !slices.Equal(sizes, []int{8, 2, 4}) {
		t.Errorf("consolidated %v turns at a time, want 8 and 2 of the one that ended and 4 of the open one", sizes)
	}
}

// After a tenant changes its strategy, new events are formed by the new strategy, also in a running workflow.
func TestASignalBringsTheStrategy(t *testing.T) {
	env, s := newRun(t)
	for i, strategy := range []string{"", "rmm"} {
		id := fmt.Sprint("s", i)
		env.RegisterDelayedCallback(func() {
			env.SignalWorkflow(consolidation.SignalEvents, consolidation.Signal{
				Events: []consolidation.Event{turn(id, 1), closed(id)}, Strategy: strategy, Policy: "llm",
			})
		}, time.Duration(i)*time.Second)
	}
	finish(t, env, params())
	if len(s.applied) != 2 || s.applied[0].Batch.Strategy != "salimory" || s.applied[0].Batch.Policy != "embedded" ||
		s.applied[1].Batch.Strategy != "rmm" || s.applied[1].Batch.Policy != "llm" {
		t.Errorf("applied %+v", s.applied)
	}
}
