package consolidation

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

const traceHeader = "traceparent"

type traceKey struct{}

// withTraceParent makes activities started from ctx continue the given trace. One run works on many sessions, so the
// events carry the trace and the run does not.
func withTraceParent(ctx workflow.Context, traceParent string) workflow.Context {
	return workflow.WithValue(ctx, traceKey{}, traceParent)
}

// TraceParent is the W3C trace context of ctx. It is empty when ctx has no span.
func TraceParent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier.Get(traceHeader)
}

// TracePropagator carries the trace of withTraceParent to activities. Add it to every client and worker, in
// client.Options.ContextPropagators.
type TracePropagator struct{}

var _ workflow.ContextPropagator = TracePropagator{}

// Inject does nothing: client calls carry the trace in the signal's events.
func (TracePropagator) Inject(context.Context, workflow.HeaderWriter) error { return nil }

// InjectFromWorkflow writes the trace for an activity.
func (TracePropagator) InjectFromWorkflow(ctx workflow.Context, w workflow.HeaderWriter) error {
	tp, _ := ctx.Value(traceKey{}).(string)
	if tp == "" {
		return nil
	}
	payload, err := converter.GetDefaultDataConverter().ToPayload(tp)
	if err != nil {
		return err
	}
	w.Set(traceHeader, payload)
	return nil
}

// Extract makes an activity's context continue the trace.
func (TracePropagator) Extract(ctx context.Context, r workflow.HeaderReader) (context.Context, error) {
	payload, ok := r.Get(traceHeader)
	if !ok {
		return ctx, nil
	}
	var tp string
	if err := converter.GetDefaultDataConverter().FromPayload(payload, &tp); err != nil {
		return ctx, err
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceHeader: tp}), nil
}

// ExtractToWorkflow does nothing: see withTraceParent.
func (TracePropagator) ExtractToWorkflow(ctx workflow.Context, _ workflow.HeaderReader) (workflow.Context, error) {
	return ctx, nil
}

// spanIDs returns the trace and span ids for entries. They are empty when not traced.
func spanIDs(ctx context.Context) (traceID, spanID string) {
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() {
		return "", ""
	}
	return sc.TraceID().String(), sc.SpanID().String()
}
