package evaluation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/shared/formation"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/embedding"
	"github.com/mneme-memory/mneme/shared/store/bank"
	bankinmem "github.com/mneme-memory/mneme/shared/store/bank/inmem"
	"github.com/mneme-memory/mneme/shared/store/window"
	windowinmem "github.com/mneme-memory/mneme/shared/store/window/inmem"
	"github.com/mneme-memory/mneme/workflows/consolidation"
)

// What one consolidation takes, and how often an unusable answer is asked for again: the services' defaults.
const (
	maxTurns          = 200
	malformedAttempts = 3
)

// Pipeline forms memory the way the services do, in the process.
type Pipeline struct {
	// Filter is the gate; nil lets every turn pass. It sees a session at a time.
	Filter formation.Filter
	// Former makes the decisions, in the way of Strategy.
	Former   formation.Former
	Strategy string
	// Embedder makes the vectors.
	Embedder embedding.Embedder
	// Bank takes what is formed; nil means one in the process's memory that goes with the run.
	Bank bank.Bank
}

// Form runs the subject's sessions in order and returns what is left behind.
func (p Pipeline) Form(ctx context.Context, s Subject) (Formed, error) {
	win, err := windowinmem.New(window.Limits{Turns: 100, Age: 1000 * time.Hour, Idle: time.Hour}, nil)
	if err != nil {
		return Formed{}, err
	}
	rec, told := &recorder{Former: p.Former}, &announcer{}
	store := p.Bank
	if store == nil {
		store = bankinmem.New(p.Embedder.Dimension())
	}
	r := run{
		pipeline: p, subject: s, formed: Formed{Decisions: map[string]bool{}},
		activities: &consolidation.Activities{
			Formers:  func(string, string) (formation.Former, error) { return rec, nil },
			Embedder: p.Embedder, Bank: store, Window: win, Announce: told,
		},
	}
	for _, session := range s.Sessions {
		if err := r.session(ctx, session); err != nil {
			return Formed{}, fmt.Errorf("form session %s: %w", session.ID, err)
		}
	}
	r.formed.Operations, r.formed.DeadLetters = rec.operations, told.deadLetters
	r.formed.Entries, err = Entries(ctx, store, s.Scope)
	return r.formed, err
}

// Entries reads all entries of a user, in every state.
func Entries(ctx context.Context, b bank.Bank, scope memory.Scope) ([]memory.Memory, error) {
	var out []memory.Memory
	for m, err := range bank.EachMemory(ctx, b, scope, bank.ListOptions{Limit: bank.MaxLimit}) {
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// run is the state of one Form.
type run struct {
	pipeline   Pipeline
	subject    Subject
	activities *consolidation.Activities
	formed     Formed
}

// session consolidates what passes the filter of a session that has ended.
func (r *run) session(ctx context.Context, session dataset.Session) error {
	turns, err := r.salient(ctx, session.Turns)
	if err != nil {
		return err
	}
	var events []consolidation.Event
	for i := range turns {
		events = append(events, consolidation.Event{ID: turns[i].ID, SessionID: session.ID, Turn: &turns[i]})
	}
	events = append(events, consolidation.Event{ID: session.ID + " ends", SessionID: session.ID, ClosedAt: session.End()})
	return consolidation.Form(ctx, r.activities, consolidation.Params{
		Scope: r.subject.Scope, Strategy: r.pipeline.Strategy, Tuning: consolidation.Tuning{MaxTurns: maxTurns, MalformedAttempts: malformedAttempts},
	}, events, session.End())
}

// salient keeps the turns that pass the filter.
func (r *run) salient(ctx context.Context, turns []memory.Turn) ([]memory.Turn, error) {
	if r.pipeline.Filter == nil {
		return turns, nil
	}
	decisions, err := r.pipeline.Filter.Filter(ctx, r.subject.Scope, turns)
	if err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	if len(decisions) != len(turns) {
		return nil, errors.New("filter: not one decision a turn")
	}
	var kept []memory.Turn
	for i, t := range turns {
		r.formed.Decisions[t.ID] = decisions[i].Salient
		if decisions[i].Salient {
			kept = append(kept, t)
		}
	}
	return kept, nil
}

// recorder keeps the operations that pass through it.
type recorder struct {
	formation.Former
	operations []memory.Operation
}

// Decide passes on what the former decides.
func (r *recorder) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	verdict, err := r.Former.Decide(ctx, in)
	r.operations = append(r.operations, verdict.Operations...)
	return verdict, err
}

// announcer tells nobody, and counts what could not be formed.
type announcer struct{ deadLetters int }

// Announce implements consolidation.Announcer.
func (*announcer) Announce(context.Context, memory.Scope, []memory.Change, time.Time) error {
	return nil
}

// DeadLetter implements consolidation.Announcer.
func (a *announcer) DeadLetter(context.Context, consolidation.Batch, string, time.Time) error {
	a.deadLetters++
	return nil
}
