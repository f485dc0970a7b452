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

// tuning holds the services' defaults for ended sessions.
var tuning = consolidation.Tuning{MaxTurns: 200, MalformedAttempts: 5}

// Pipeline forms memory in this process, as the services do. The filter rates one session at a time. The kept turns
// pass through the workflow's steps, batches and failure handling.
type Pipeline struct {
	// Filter rates turns; nil lets every turn pass.
	Filter formation.Filter
	// Saliency is the mode of the filter; empty means that the filter gates.
	Saliency memory.SaliencyMode
	// Former makes the decisions of Strategy.
	Former   formation.Former
	Strategy string
	// Embedder makes the vectors.
	Embedder embedding.Embedder
	// Bank stores the memories. Nil means a bank in this process that ends with the run.
	Bank bank.Bank
}

// Formed is the result of a run.
type Formed struct {
	// Decisions hold by turn id whether the turn passed the filter. A turn without a decision counts as kept.
	Decisions map[string]bool
	// Entries are the bank's entries in every state.
	Entries []memory.Memory
	// Operations are the decisions, in their order.
	Operations []memory.Operation
	// Shown are the ids of the stored entries that the former received together with the turns. They are in order,
	// with repetitions.
	Shown []string
	// Searches is the number of searches in the bank, for the turns and for the former's look-ups.
	Searches int
	// Took is the former's time without filter, embedding and searches.
	Took time.Duration
	// DeadLetters holds a reason for each batch of turns that failed for good.
	DeadLetters []string
}

func (f *Formed) show(entries []memory.Memory) {
	for _, m := range entries {
		f.Shown = append(f.Shown, m.ID)
	}
}

// Complete returns an error if a batch failed for good.
func (f Formed) Complete() error {
	if len(f.DeadLetters) == 0 {
		return nil
	}
	return fmt.Errorf("%d batches failed, the first with: %s", len(f.DeadLetters), f.DeadLetters[0])
}

// Form runs the subject's sessions in order and returns the result.
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

// Life runs a subject's sessions through a pipeline, one by one. It is not safe for concurrent use. Its forks share
// no state that changes.
type Life struct {
	pipeline   Pipeline
	subject    dataset.Subject
	at         int // index of the next session
	activities *consolidation.Activities
	formed     Formed
}

// Begin returns a life at its first session.
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

// ErrNoFork says that the life's bank cannot be copied.
var ErrNoFork = errors.New("the life's bank must be in the process's memory")

// Fork returns an independent copy of this life at the same session. It uses the given filter and former where these
// are not nil. Fork copies the maps of entries, not the entries' contents.
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

// Next returns the next session, or nil at the end.
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

// Bank returns the bank with the memories formed so far.
func (r *Life) Bank() bank.Bank { return r.activities.Bank }

// Formed returns the result of the sessions formed so far.
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

// session consolidates the turns of an ended session that pass the filter. The other turns serve as context.
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

// rated returns the turns with the filter's decisions.
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
		return nil, errors.New("filter: want one decision for each turn")
	}
	for i, d := range decisions {
		d.Mode = r.pipeline.Saliency
		out[i].Saliency = d
		r.formed.Decisions[out[i].ID] = d.Passes()
	}
	return out, nil
}

// show adds the salient turns to working memory.
func (r *Life) show(ctx context.Context, turns []memory.Turn) error {
	salient := slices.DeleteFunc(slices.Clone(turns), func(t memory.Turn) bool { return !t.Saliency.Salient })
	if err := r.activities.Window.Append(ctx, r.subject.Scope, salient); err != nil {
		return fmt.Errorf("append to window: %w", err)
	}
	return nil
}

// recorder stores the operations, counts their searches, and times the former.
type recorder struct {
	formation.Former
	formed *Formed
}

// Reads implements formation.Reader. It returns the former's value, or 0 if the former reads nothing.
func (r recorder) Reads() int {
	if reader, ok := r.Former.(formation.Reader); ok {
		return reader.Reads()
	}
	return 0
}

// Extract returns the former's candidates.
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

// Decide returns the former's verdict.
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

// announcer discards announcements and stores the reasons of dead letters.
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
