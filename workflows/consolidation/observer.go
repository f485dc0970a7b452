package consolidation

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
)

// patience is how long an activity waits for its time at a model. Then it frees its place on the worker for another
// activity, perhaps of another tenant. It comes again when it is due.
const patience = 2 * time.Second

// Observer gives every activity a span, a duration and a heartbeat.
type Observer struct {
	interceptor.WorkerInterceptorBase
	tracer trace.Tracer
	steps  metric.Float64Histogram
	delay  metric.Float64Histogram
}

// NewObserver makes an observer.
func NewObserver(tracer trace.Tracer, meter metric.Meter) (*Observer, error) {
	steps, err1 := telemetry.MetricStepTime.Histogram(meter)
	delay, err2 := telemetry.MetricDelay.Histogram(meter)
	return &Observer{tracer: tracer, steps: steps, delay: delay}, errors.Join(err1, err2)
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (o *Observer) InterceptActivity(_ context.Context,
	next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &observedActivity{observer: o}
	i.Next = next
	return i
}

type observedActivity struct {
	interceptor.ActivityInboundInterceptorBase
	observer *Observer
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (o *observedActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	ctx, span := o.observer.tracer.Start(ctx, "consolidation."+info.ActivityType.Name, trace.WithAttributes(
		attribute.String("temporal.workflow.id", ShownID(info.WorkflowExecution.ID)),
		attribute.String("temporal.workflow.run_id", info.WorkflowExecution.RunID),
		attribute.Int("temporal.activity.attempt", int(info.Attempt)),
	))
	defer span.End()
	stop := heartbeat(ctx)
	defer stop()
	began, outcome := time.Now(), "done"
	result, err := o.Next.ExecuteActivity(fault.WithPatience(ctx, patience), in)
	if err != nil {
		outcome = "failed"
		span.SetStatus(codes.Error, "activity failed") // the error's text may quote a model's answer
	}
	o.observer.steps.Record(ctx, time.Since(began).Seconds(), metric.WithAttributes(
		telemetry.AttrStep.String(info.ActivityType.Name), telemetry.AttrOutcome.String(outcome)))
	if err == nil {
		o.observer.formed(ctx, in.Args)
	}
	return result, err
}

// formed records the time from the end of a session to its last applied memories. For a session of long ago that is
// imported today, the end is the time at which its turns passed the filter.
func (o *Observer) formed(ctx context.Context, args []any) {
	for _, arg := range args {
		in, ok := arg.(ApplyInput)
		if !ok || !in.Batch.Closes || in.More || in.Batch.ClosedAt.IsZero() {
			continue
		}
		ended := in.Batch.ClosedAt
		for _, t := range in.Batch.Turns {
			if t.DecidedAt.After(ended) {
				ended = t.DecidedAt
			}
		}
		o.delay.Record(ctx, max(0, time.Since(ended).Seconds()),
			metric.WithAttributes(telemetry.AttrTenant.String(in.Batch.Scope.Tenant)))
	}
}

// heartbeat reports to the server that the worker is alive. So another worker takes over a dead worker's activity
// within seconds, although a model may take minutes.
func heartbeat(ctx context.Context) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(heartbeatEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-tick.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	return func() { close(done); <-ended }
}

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
