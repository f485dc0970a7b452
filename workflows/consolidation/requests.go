package consolidation

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme-memory/mneme/shared/fault"
)

// request is what somebody asked the writer for, and waits for.
type request struct {
	do func(workflow.Context) error
	// tells says that it brings what was said: an erasure leaves nothing of it.
	tells bool
	// done says that it has been worked off, and refused why it failed for good.
	done    bool
	refused error
}

// end answers a request; nil says that it was done.
func (q *request) end(err error) {
	q.done = true
	if err != nil {
		q.refused = temporal.NewApplicationError(reason(err), errorTerminal)
	}
}

// await takes in a request, and answers when it has been worked off.
func (r *run) await(ctx workflow.Context, q *request) error {
	r.requests = append(r.requests, q)
	if err := workflow.Await(ctx, func() bool { return q.done }); err != nil {
		return err
	}
	return q.refused
}

// serve works off the oldest request.
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

// refuseTelling refuses what waits to be written when the user is erased: nobody can tell whether it was asked for before or after that.
func (r *run) refuseTelling() {
	var rest []*request
	for _, q := range r.requests {
		if q.tells {
			q.end(fault.Terminal("", "the user was erased meanwhile: ask for it again if it is to be remembered all the same"))
			continue
		}
		rest = append(rest, q)
	}
	r.requests = rest
}

// retract takes in a request to retract an entry, or to release it from quarantine.
func (r *run) retract(ctx workflow.Context, in Retraction) error {
	return r.await(ctx, &request{do: func(ctx workflow.Context) error {
		input := RetractInput{Scope: r.params.Scope, Retraction: in, Now: workflow.Now(ctx)}
		return workflow.ExecuteActivity(storeOptions(withTraceParent(ctx, in.TraceParent)), (*Activities)(nil).Retract, input).Get(ctx, nil)
	}})
}

// edit takes in a request to write an entry in a caller's words. What that comes to is recorded before it is applied.
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
