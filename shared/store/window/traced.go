package window

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Attributes of the spans of Traced. Turns are counted, never shown.
const (
	attrTenant = attribute.Key("mneme.tenant.id")
	attrTurns  = attribute.Key("gen_ai.memory.turn.count")
)

// Traced returns w with one span per call, "memory.window.<op>" with op one of append, keep, recent, retire, erase,
// reinstate, count and ping. A span has the tenant and the number of turns written or read. It has no id of a
// user, because an erasure does not reach a collector's traces. A failed call sets its status.
func Traced(w Window, tracer trace.Tracer) Window {
	return &traced{next: w, tracer: tracer}
}

type traced struct {
	next   Window
	tracer trace.Tracer
}

func (t *traced) Append(ctx context.Context, scope memory.Scope, turns []memory.Turn) (err error) {
	ctx, span := t.start(ctx, "append", scope)
	defer func() { finish(span, err) }()
	span.SetAttributes(attrTurns.Int(len(turns)))
	return t.next.Append(ctx, scope, turns)
}

func (t *traced) Keep(ctx context.Context, scope memory.Scope, kept []Kept) (err error) {
	ctx, span := t.start(ctx, "keep", scope)
	defer func() { finish(span, err) }()
	span.SetAttributes(attrTurns.Int(len(kept)))
	return t.next.Keep(ctx, scope, kept)
}

func (t *traced) Recent(ctx context.Context, scope memory.Scope, at time.Time) (turns []memory.Turn, err error) {
	ctx, span := t.start(ctx, "recent", scope)
	defer func() { finish(span, err) }()
	turns, err = t.next.Recent(ctx, scope, at)
	span.SetAttributes(attrTurns.Int(len(turns)))
	return turns, err
}

func (t *traced) Retire(ctx context.Context, scope memory.Scope, turnIDs []string) (err error) {
	ctx, span := t.start(ctx, "retire", scope)
	defer func() { finish(span, err) }()
	span.SetAttributes(attrTurns.Int(len(turnIDs)))
	return t.next.Retire(ctx, scope, turnIDs)
}

func (t *traced) Erase(ctx context.Context, scope memory.Scope) (err error) {
	ctx, span := t.start(ctx, "erase", scope)
	defer func() { finish(span, err) }()
	return t.next.Erase(ctx, scope)
}

func (t *traced) Reinstate(ctx context.Context, scope memory.Scope) (err error) {
	ctx, span := t.start(ctx, "reinstate", scope)
	defer func() { finish(span, err) }()
	return t.next.Reinstate(ctx, scope)
}

func (t *traced) Count(ctx context.Context, scope memory.Scope) (counts Counts, err error) {
	ctx, span := t.start(ctx, "count", scope)
	defer func() { finish(span, err) }()
	return t.next.Count(ctx, scope)
}

func (t *traced) start(ctx context.Context, op string, scope memory.Scope) (context.Context, trace.Span) {
	return t.tracer.Start(ctx, "memory.window."+op, trace.WithAttributes(attrTenant.String(scope.Tenant)))
}

// finish ends a span. Errors of stores contain commands and addresses, not turns, so the span may record their text.
func finish(span trace.Span, err error) {
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
