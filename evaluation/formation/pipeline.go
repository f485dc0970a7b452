package formation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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

// tuning has the services' defaults for sessions that have ended.
var tuning = consolidation.Tuning{MaxTurns: 200, MalformedAttempts: 5}

// Pipeline forms memory the way the services do, in the process: the filter sees a session at a time, and what passes goes through the
// workflow's own steps, batches and failure handling.
type Pipeline struct {
	// Filter rates turns; nil lets every turn pass.
	Filter formation.Filter
	// Saliency is what becomes of what the filter says; empty means that it gates.
	Saliency memory.SaliencyMode
	// Former makes the decisions of Strategy.
	Former   formation.Former
	Strategy string
	// Embedder makes the vectors.
	Embedder embedding.Embedder
	// Bank takes what is formed; nil means one in the process's memory that goes with the run.
	Bank bank.Bank
}

// Formed is what a run left behind.
type Formed struct {
	// Decisions say by turn id whether it passed the filter; a turn without one counts as kept.
	Decisions map[string]bool
	// Entries of the bank in every state.
	Entries []memory.Memory
	// Operations in the order they were decided.
	Operations []memory.Operation
	// Shown are the ids of the entries that the former was shown beside what the turns say, in order, one as often as it was shown.
	Shown []string
	// Searches is how often the bank was searched: for what the turns say, and for what the former looked up.
	Searches int
	// Took is how long the former took, filter, embedding and searches apart.
	Took time.Duration
	// DeadLetters has a reason for each batch of turns that could not be formed.
	DeadLetters []string
}

func (f *Formed) show(entries []memory.Memory) {
	for _, m := range entries {
		f.Shown = append(f.Shown, m.ID)
	}
}

// Complete is an error where something could not be formed.
func (f Formed) Complete() error {
	if len(f.DeadLetters) == 0 {
		return nil
	}
	return fmt.Errorf("%d batches could not be formed, the first because of: %s", len(f.DeadLetters), f.DeadLetters[0])
}

// Form runs the subject's sessions in order and returns what is left behind.
func (p Pipeline) Form(ctx context.Context, s dataset.Subject) (Formed, error) {
	l, err := p.Begin(s)
	if err != nil {
		return Formed{}, err
	}
	for l.Next() != nil {
		if err := l.Step(ctx); err != nil {
			return Formed{}, err
		}
	}
	return l.Formed(ctx)
}

// Life is a subject's sessions on their way through a pipeline. It is not safe for concurrent use; forks of it do not share what changes.
type Life struct {
	pipeline   Pipeline
	subject    dataset.Subject
	at         int // the session that comes next
	activities *consolidation.Activities
	formed     Formed
}

// Begin makes a life of which no session has been formed.
func (p Pipeline) Begin(s dataset.Subject) (*Life, error) {
	win, err := windowinmem.New(window.DefaultLimits(), nil)
	if err != nil {
		return nil, err
	}
	if p.Bank == nil {
		p.Bank = bankinmem.New(p.Embedder.Dimension())
	}
	l := &Life{pipeline: p, subject: s, formed: Formed{Decisions: map[string]bool{}}}
	l.wire(p.Bank, win)
	return l, nil
}

func (r *Life) wire(b bank.Bank, w window.Window) {
	r.activities = &consolidation.Activities{
		Formers:  func(string, string) (formation.Former, error) { return recorder{r.pipeline.Former, &r.formed}, nil },
		Embedder: r.pipeline.Embedder, Bank: b, Window: w, Announce: announcer{&r.formed},
	}
}

// ErrNoFork says that a life's bank is one that cannot be copied.
var ErrNoFork = errors.New("the life's bank is not one in the process's memory")

// Fork returns a life that stands where this one does, and goes its own way from then on, by another filter and former where these are
// not nil. Its cost is that of copying maps of what is remembered, not of what that says.
func (r *Life) Fork(filter formation.Filter, former formation.Former) (*Life, error) {
	held, ok := r.activities.Bank.(*bankinmem.Bank)
	seen, ok2 := r.activities.Window.(*windowinmem.Window)
	if !ok || !ok2 {
		return nil, ErrNoFork
	}
	out := &Life{pipeline: r.pipeline, subject: r.subject, at: r.at, formed: r.formed}
	out.formed.Decisions = maps.Clone(r.formed.Decisions)
	out.formed.Operations, out.formed.DeadLetters = slices.Clip(r.formed.Operations), slices.Clip(r.formed.DeadLetters)
	out.formed.Shown = slices.Clip(r.formed.Shown)
	if filter != nil {
		out.pipeline.Filter = filter
	}
	if former != nil {
		out.pipeline.Former = former
	}
	out.wire(held.Fork(), seen.Fork())
	return out, nil
}

// Next returns the session that comes next, nil at the end.
func (r *Life) Next() *dataset.Session {
	if r.at >= len(r.subject.Sessions) {
		return nil
	}
	return &r.subject.Sessions[r.at]
}

// Step forms the next session; at the end it does nothing.
func (r *Life) Step(ctx context.Context) error {
	next := r.Next()
	if next == nil {
		return nil
	}
	if err := r.session(ctx, *next); err != nil {
		return fmt.Errorf("form session %s: %w", next.ID, err)
	}
	r.at++
	return nil
}

// Bank is what is remembered so far.
func (r *Life) Bank() bank.Bank { return r.activities.Bank }

// Formed returns what the sessions left behind so far.
func (r *Life) Formed(ctx context.Context) (Formed, error) {
	out := r.formed
	out.Entries = nil
	for m, err := range bank.EachMemory(ctx, r.activities.Bank, r.subject.Scope, bank.ListOptions{Limit: bank.MaxLimit}) {
		if err != nil {
			return Formed{}, err
		}
		out.Entries = append(out.Entries, m)
	}
	return out, nil
}

// session consolidates what passes the filter of a session that has ended; the rest is its context.
func (r *Life) session(ctx context.Context, session dataset.Session) error {
	turns, err := r.rated(ctx, session.Turns)
	if err != nil {
		return err
	}
	if err := r.show(ctx, turns); err != nil {
		return err
	}
	var events []consolidation.Event
	for i := range turns {
		events = append(events, consolidation.Event{
			ID: turns[i].ID, SessionID: session.ID, Turn: &turns[i], Context: !turns[i].Saliency.Passes(),
		})
	}
	events = append(events, consolidation.Event{ID: session.ID + " ends", SessionID: session.ID, ClosedAt: session.End()})
	p := consolidation.Params{Scope: r.subject.Scope, Strategy: r.pipeline.Strategy, Tuning: tuning}
	return consolidation.Form(ctx, r.activities, p, events, session.End())
}

// rated returns the turns with what the filter decided on them.
func (r *Life) rated(ctx context.Context, turns []memory.Turn) ([]memory.Turn, error) {
	out := slices.Clone(turns)
	if r.pipeline.Filter == nil || r.pipeline.Saliency == memory.SaliencyOff {
		for i := range out {
			out[i].Saliency = memory.SaliencyDecision{Salient: true, Mode: memory.SaliencyOff}
		}
		return out, nil
	}
	decisions, err := r.pipeline.Filter.Filter(ctx, r.subject.Scope, turns, nil)
	if err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	if len(decisions) != len(turns) {
		return nil, errors.New("filter: not one decision a turn")
	}
	for i, d := range decisions {
		d.Mode = r.pipeline.Saliency
		out[i].Saliency = d
		r.formed.Decisions[out[i].ID] = d.Passes()
	}
	return out, nil
}

// show puts what is salient into working memory.
func (r *Life) show(ctx context.Context, turns []memory.Turn) error {
	salient := slices.DeleteFunc(slices.Clone(turns), func(t memory.Turn) bool { return !t.Saliency.Salient })
	if err := r.activities.Window.Append(ctx, r.subject.Scope, salient); err != nil {
		return fmt.Errorf("append to window: %w", err)
	}
	return nil
}

// recorder keeps the operations that pass through it, counts the searches that they take, and times the former.
type recorder struct {
	formation.Former
	formed *Formed
}

// Reads implements formation.Reader: that of the former, 0 where it reads nothing.
func (r recorder) Reads() int {
	if reader, ok := r.Former.(formation.Reader); ok {
		return reader.Reads()
	}
	return 0
}

// Extract passes on what the former extracts.
func (r recorder) Extract(ctx context.Context, in formation.Session) ([]formation.Candidate, error) {
	began := time.Now()
	candidates, err := r.Former.Extract(ctx, in)
	r.formed.Took += time.Since(began)
	for _, c := range candidates {
		if c.Neighbours != formation.NoNeighbours && c.Neighbours != formation.SharedNeighbours {
			r.formed.Searches++
		}
	}
	return candidates, err
}

// Decide passes on what the former decides.
func (r recorder) Decide(ctx context.Context, in formation.Bundle) (formation.Verdict, error) {
	began := time.Now()
	verdict, err := r.Former.Decide(ctx, in)
	r.formed.Took += time.Since(began)
	r.formed.Operations = append(r.formed.Operations, verdict.Operations...)
	r.formed.Searches += len(verdict.Lookups)
	for _, related := range in.Related {
		r.formed.show(related.Memories)
	}
	for _, found := range in.Found {
		r.formed.show(found.Memories)
	}
	return verdict, err
}

// announcer announces to nobody, and keeps why something could not be formed.
type announcer struct{ formed *Formed }

// Announce implements consolidation.Announcer.
func (announcer) Announce(context.Context, memory.Scope, []memory.Change, time.Time) error {
	return nil
}

// DeadLetter implements consolidation.Announcer.
func (a announcer) DeadLetter(_ context.Context, _ consolidation.Batch, reason string, _ time.Time) error {
	a.formed.DeadLetters = append(a.formed.DeadLetters, reason)
	return nil
}
