package consolidation

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme-memory/mneme/shared/fault"
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
