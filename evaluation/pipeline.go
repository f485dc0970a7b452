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

// DefaultMaxTurns is how many turns one consolidation takes unless said otherwise.
const DefaultMaxTurns = 200

// Pipeline forms memory the way the services do, in the process.
type Pipeline struct {
	// Filter is the gate; nil lets every turn pass. It sees a session at a time.
	Filter formation.Filter
	// Former makes the decisions, in the way of Strategy.
	Former   formation.Former
	Strategy string
	// Embedder makes the vectors.
	Embedder embedding.Embedder
	// MaxTurns is how many turns one consolidation takes; 0 means DefaultMaxTurns.
	MaxTurns int
	// Bank takes what is formed; nil means one in the process's memory that goes with the run.
	Bank bank.Bank
}

// Form runs the subject's sessions in order and returns what is left behind.
func (p Pipeline) Form(ctx context.Context, s Subject) (Formed, error) {
	win, err := windowinmem.New(window.Limits{Turns: 100, Age: 1000 * time.Hour, Idle: time.Hour}, nil)
	if err != nil {
		return Formed{}, err
	}
	rec := &recorder{Former: p.Former}
	store := p.Bank
	if store == nil {
		store = bankinmem.New(p.Embedder.Dimension())
	}
	r := run{
		pipeline: p, subject: s, recorder: rec, formed: Formed{Decisions: map[string]bool{}},
		activities: &consolidation.Activities{
			Formers:  func(string, string) (formation.Former, error) { return rec, nil },
			Embedder: p.Embedder, Bank: store, Window: win, Announce: silent{},
		},
	}
	for _, session := range s.Sessions {
		if err := r.session(ctx, session); err != nil {
			return Formed{}, fmt.Errorf("form session %s: %w", session.ID, err)
		}
	}
	r.formed.Operations = rec.operations
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
	recorder   *recorder
	activities *consolidation.Activities
	formed     Formed
}

func (r *run) session(ctx context.Context, session dataset.Session) error {
	turns, err := r.salient(ctx, session.Turns)
	if err != nil {
		return err
	}
	size := r.pipeline.MaxTurns
	if size == 0 {
		size = DefaultMaxTurns
	}
	for start := 0; start < len(turns); start += size {
		end := min(start+size, len(turns))
		b := consolidation.Batch{
			Scope: r.subject.Scope, Strategy: r.pipeline.Strategy, SessionID: session.ID, Turns: turns[start:end], Closes: end == len(turns), ClosedAt: session.End(),
		}
		if err := r.consolidate(ctx, b, session.End()); err != nil {
			return err
		}
	}
	return nil
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

// consolidate runs the four steps of the workflow on a batch.
func (r *run) consolidate(ctx context.Context, b consolidation.Batch, now time.Time) error {
	extracted, err := r.activities.Extract(ctx, b)
	if err != nil {
		return err
	}
	near, err := r.activities.Relate(ctx, consolidation.RelateInput{Batch: b, Candidates: extracted.Candidates})
	if err != nil {
		return err
	}
	decided, err := r.decide(ctx, consolidation.DecideInput{Batch: b, Neighbourhood: near, Now: now})
	if err != nil {
		return err
	}
	return r.activities.Apply(ctx, consolidation.ApplyInput{Batch: b, Decided: decided, Now: now, Known: near.Known})
}

// decide asks until the former has seen all that it wants to see.
func (r *run) decide(ctx context.Context, in consolidation.DecideInput) (consolidation.Decided, error) {
	for range consolidation.MaxRounds {
		decided, err := r.activities.Decide(ctx, in)
		if err != nil || len(decided.Lookups) == 0 {
			return decided, err
		}
		looked, err := r.activities.Search(ctx, consolidation.SearchInput{Scope: r.subject.Scope, Lookups: decided.Lookups})
		if err != nil {
			return consolidation.Decided{}, err
		}
		in.Found, in.Memo = in.Neighbourhood.Extend(looked), decided.Memo
	}
	return consolidation.Decided{}, fmt.Errorf("no decision after %d looks into the bank", consolidation.MaxRounds)
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

// silent is an announcer to nobody.
type silent struct{}

func (silent) Announce(context.Context, memory.Scope, []memory.Change, time.Time) error { return nil }

func (silent) DeadLetter(_ context.Context, _ consolidation.Batch, reason string, _ time.Time) error {
	return fmt.Errorf("dead letter: %s", reason)
}
