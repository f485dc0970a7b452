package consolidation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/bank"
	"github.com/mneme-memory/mneme/shared/tenant"
	"github.com/mneme-memory/mneme/shared/text"
)

// request is a caller's request to the writer. The caller waits for its end.
type request struct {
	do func(workflow.Context) error
	// tells marks a request that brings user text. An erasure removes such a request.
	tells bool
	// done means that the request ended. refused is the reason of a final failure.
	done    bool
	refused error
}

// end answers a request. A nil error means success.
func (q *request) end(err error) {
	q.done = true
	if err != nil {
		q.refused = temporal.NewApplicationError(reason(err), errorTerminal)
	}
}

// await accepts a request, and answers at its end.
func (r *run) await(ctx workflow.Context, q *request) error {
	r.requests = append(r.requests, q)
	if err := workflow.Await(ctx, func() bool { return q.done }); err != nil {
		return err
	}
	return q.refused
}

// serve carries out the oldest request.
func (r *run) serve(ctx workflow.Context) {
	q := r.requests[0]
	err := q.do(ctx)
	if ctx.Err() != nil {
		return
	}
	q.end(err)
	r.requests = r.requests[1:]
	r.state.forgetExtracted()
}

// refuseTelling refuses waiting requests with user text when the user is erased. The writer cannot know if the
// request came before or after the erasure.
func (r *run) refuseTelling() {
	var rest []*request
	for _, q := range r.requests {
		if q.tells {
			q.end(fault.Terminal("", "the user was erased meanwhile: repeat the request if Mneme should remember it "+
				"all the same"))
			continue
		}
		rest = append(rest, q)
	}
	r.requests = rest
}

// retract accepts a request to retract an entry, or to release it from quarantine.
func (r *run) retract(ctx workflow.Context, in Retraction) error {
	return r.await(ctx, &request{do: func(ctx workflow.Context) error {
		input := RetractInput{Scope: r.params.Scope, Retraction: in, Now: workflow.Now(ctx)}
		return workflow.ExecuteActivity(storeOptions(withTraceParent(ctx, in.TraceParent)), (*Activities)(nil).Retract,
			input).Get(ctx, nil)
	}})
}

// edit accepts a request to write an entry with a caller's text. The history records the decision before Apply.
func (r *run) edit(ctx workflow.Context, in Edit) error {
	return r.await(ctx, &request{tells: true, do: func(ctx workflow.Context) error {
		do := activities{withTraceParent(ctx, in.TraceParent)}
		input := EditInput{Scope: r.params.Scope, Edit: in, Now: do.now()}
		decided, err := call[Decided](modelOptions(do.ctx), "Edit", (*Activities)(nil).Edit, input)
		if err != nil || len(decided.Write.Put) == 0 {
			return err
		}
		return do.apply(ApplyInput{Batch: input.batch(), Decided: decided, Now: do.now()})
	}})
}

// Retract removes an entry from recall on request and announces it. It leaves a deleted entry as it is. It refuses an
// entry that a newer version replaced, because the caller must not take it for deleted. A release request ends the
// quarantine. It waits for stores only.
func (a *Activities) Retract(ctx context.Context, in RetractInput) error {
	m, err := a.Bank.Get(ctx, in.Scope, in.MemoryID)
	switch {
	case errors.Is(err, bank.ErrNotFound):
		return nil
	case err != nil:
		return classify(fmt.Errorf("get memory: %w", err))
	case in.Release:
		return classify(a.release(ctx, in, m))
	case m.Status == memory.StatusSuperseded:
		return classify(fault.Terminal("", "the memory is superseded: delete its newer version, or erase the user"))
	}
	// The operation makes the entry invalid for all times: no question about the past shows it again.
	op := memory.Operation{Kind: memory.OpDelete, Targets: []string{m.ID}, Sources: []string{in.ID}, At: m.ValidFrom}
	if m.Status.Open() {
		w, err := memory.Plan(in.Scope, []memory.Operation{op}, []memory.Memory{m}, in.Now)
		if err != nil {
			return classify(err)
		}
		if err := a.Bank.Write(ctx, in.Scope, w); err != nil {
			return classify(fmt.Errorf("write bank: %w", err))
		}
	}
	// The following steps also run for a retracted entry, because an earlier attempt may have ended before them.
	if err := a.Window.Retire(ctx, in.Scope, m.Sources); err != nil {
		return classify(fmt.Errorf("retire from window: %w", err))
	}
	changes := memory.Changes(in.Scope, []memory.Operation{op}, []memory.Memory{m})
	cut, err := a.cutCore(ctx, in, m)
	if err != nil {
		return classify(fmt.Errorf("cut core block: %w", err))
	}
	changes = append(changes, cut...)
	return classify(fault.During("announce changes", a.Announce.Announce(ctx, in.Scope, changes, in.Now)))
}

// release ends the quarantine of an entry and announces that. It announces a released entry again, because an earlier
// attempt may have ended before the announcement. It leaves an entry without quarantine as it is.
func (a *Activities) release(ctx context.Context, in RetractInput, m memory.Memory) error {
	if m.Status == memory.StatusRetracted {
		return fault.Terminal("", "the memory is retracted")
	}
	if m.Quarantine == "" {
		return nil
	}
	op := memory.Operation{Kind: memory.OpRelease, Targets: []string{m.ID}, Sources: []string{in.ID}}
	if m.Status == memory.StatusQuarantined {
		w, err := memory.Plan(in.Scope, []memory.Operation{op}, []memory.Memory{m}, in.Now)
		if err != nil {
			return err
		}
		if err := a.Bank.Write(ctx, in.Scope, w); err != nil {
			return fmt.Errorf("write bank: %w", err)
		}
	}
	m.Status = memory.StatusActive // an entry that no longer holds is not a candidate
	kept, err := a.keepCore(ctx, coreInput{
		scope: in.Scope, strategy: in.Strategy, sessionID: m.SessionID, written: []memory.Memory{m}, now: in.Now,
	})
	if err != nil {
		return fmt.Errorf("keep core block: %w", err)
	}
	changes := append(memory.Changes(in.Scope, []memory.Operation{op}, []memory.Memory{m}), kept...)
	return fault.During("announce changes", a.Announce.Announce(ctx, in.Scope, changes, in.Now))
}

// cutCore removes the lines about an entry from the core block. A line with the entry as source is removed. In a
// block that the strategy writes, the lines with the entry's text are removed.
func (a *Activities) cutCore(ctx context.Context, in RetractInput, m memory.Memory) ([]memory.Change, error) {
	if !tenant.Strategy(in.Strategy).WritesCore() {
		return a.keepCore(ctx, coreInput{
			scope: in.Scope, strategy: in.Strategy, sessionID: m.SessionID, closed: []string{m.ID}, now: in.Now,
		})
	}
	core, err := a.Bank.Core(ctx, in.Scope)
	if err != nil {
		return nil, err
	}
	ops := cuts(core, m, in.ID, "deleted on request")
	next, err := memory.PlanCore(in.Scope, core, ops, m.SessionID, core.PolicyVersion, in.Now)
	if err != nil || next == nil {
		return nil, err
	}
	return memory.CoreChanges(in.Scope, next, ops), a.Bank.Write(ctx, in.Scope, memory.Write{Core: next})
}

// cuts returns the operations that remove the block's lines about an entry.
func cuts(core memory.Core, m memory.Memory, source, reason string) []memory.CoreOperation {
	var ops []memory.CoreOperation
	for line := range strings.Lines(core.Content) {
		line = strings.TrimRight(line, "\n")
		if repeats(line, m) {
			ops = append(ops, memory.CoreOperation{Kind: memory.OpReplace, Old: line, Sources: []string{source}, Reason: reason})
		}
	}
	return ops
}

// tellingShare is the minimum share of an entry's words in a line about the entry.
const tellingShare = 0.8

// repeats reports whether a line repeats an entry: in its words or most of them, or as a part of it.
func repeats(line string, m memory.Memory) bool {
	have, stems := text.StemSet(line), text.ContentStems(m.Content)
	n := 0
	for _, stem := range stems {
		if have[stem] {
			n++
		}
	}
	// many lines have the speaker and the date
	beside := text.StemSet(m.Speaker + " " + m.ValidFrom.UTC().Format(time.DateOnly))
	said := text.StemSet(m.Content)
	part := slices.ContainsFunc(stems, func(stem string) bool { return have[stem] })
	for stem := range have {
		part = part && (said[stem] || beside[stem])
	}
	return len(stems) > 0 && (part || float64(n) >= tellingShare*float64(len(stems)))
}
