package bank

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Traced returns b with a client span "memory.bank.<operation>" around each call. Spans hold
// the system, the operation and counts; ids of tenants and users, queries and contents stay out of
// them. ErrNotFound is an answer and does not mark a span as failed.
func Traced(b Bank, tracer trace.Tracer) Bank {
	system := ""
	if named, ok := b.(interface{ System() string }); ok {
		system = named.System()
	}
	return traced{next: b, tracer: tracer, system: system}
}

type traced struct {
	next   Bank
	tracer trace.Tracer
	system string
}

// start opens the span of one call. The returned function ends it; count is below 0 where the call returns no entries.
func (t traced) start(ctx context.Context, operation string, attributes ...attribute.KeyValue) (context.Context, func(count int, err error)) {
	attributes = append(attributes, semconv.DBOperationName(operation))
	if t.system != "" {
		attributes = append(attributes, semconv.DBSystemNameKey.String(t.system))
	}
	ctx, span := t.tracer.Start(ctx, "memory.bank."+operation,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
	return ctx, func(count int, err error) {
		defer span.End()
		if err != nil && !errors.Is(err, ErrNotFound) {
			span.RecordError(err)
			span.SetStatus(codes.Error, operation)
			return
		}
		if count >= 0 {
			span.SetAttributes(semconv.DBResponseReturnedRowsKey.Int(count))
		}
	}
}

func (t traced) Write(ctx context.Context, scope memory.Scope, w memory.Write) error {
	ctx, end := t.start(ctx, "write", semconv.DBOperationBatchSize(len(w.Put)+len(w.Close)))
	err := t.next.Write(ctx, scope, w)
	end(-1, err)
	return err
}

func (t traced) Get(ctx context.Context, scope memory.Scope, id string) (memory.Memory, error) {
	ctx, end := t.start(ctx, "get")
	m, err := t.next.Get(ctx, scope, id)
	count := 1
	if err != nil {
		count = 0
	}
	end(count, err)
	return m, err
}

func (t traced) List(ctx context.Context, scope memory.Scope, o ListOptions) (Page, error) {
	ctx, end := t.start(ctx, "list")
	page, err := t.next.List(ctx, scope, o)
	end(len(page.Memories), err)
	return page, err
}

func (t traced) History(ctx context.Context, scope memory.Scope, id string) ([]memory.Memory, error) {
	ctx, end := t.start(ctx, "history")
	versions, err := t.next.History(ctx, scope, id)
	end(len(versions), err)
	return versions, err
}

func (t traced) Search(ctx context.Context, scope memory.Scope, q Query) ([]Scored, error) {
	ctx, end := t.start(ctx, "search")
	found, err := t.next.Search(ctx, scope, q)
	end(len(found), err)
	return found, err
}

func (t traced) Turns(ctx context.Context, scope memory.Scope, ids []string) ([]memory.Turn, error) {
	ctx, end := t.start(ctx, "turns")
	turns, err := t.next.Turns(ctx, scope, ids)
	end(len(turns), err)
	return turns, err
}

func (t traced) Core(ctx context.Context, scope memory.Scope) (memory.Core, error) {
	ctx, end := t.start(ctx, "core")
	c, err := t.next.Core(ctx, scope)
	end(-1, err)
	return c, err
}

func (t traced) Session(ctx context.Context, scope memory.Scope, sessionID string) (memory.SessionRecord, bool, error) {
	ctx, end := t.start(ctx, "session")
	r, ok, err := t.next.Session(ctx, scope, sessionID)
	count := 0
	if ok {
		count = 1
	}
	end(count, err)
	return r, ok, err
}

func (t traced) Owner(ctx context.Context, tenant, id string) (string, error) {
	ctx, end := t.start(ctx, "owner")
	user, err := t.next.Owner(ctx, tenant, id)
	count := 1
	if err != nil {
		count = 0
	}
	end(count, err)
	return user, err
}

func (t traced) ListTurns(ctx context.Context, scope memory.Scope, o PageOptions) (TurnPage, error) {
	ctx, end := t.start(ctx, "list_turns")
	page, err := t.next.ListTurns(ctx, scope, o)
	end(len(page.Turns), err)
	return page, err
}

func (t traced) ListSessions(ctx context.Context, scope memory.Scope, o PageOptions) (SessionPage, error) {
	ctx, end := t.start(ctx, "list_sessions")
	page, err := t.next.ListSessions(ctx, scope, o)
	end(len(page.Sessions), err)
	return page, err
}

func (t traced) WriteDropped(ctx context.Context, scope memory.Scope, dropped []memory.Dropped) error {
	ctx, end := t.start(ctx, "write_dropped", semconv.DBOperationBatchSize(len(dropped)))
	err := t.next.WriteDropped(ctx, scope, dropped)
	end(-1, err)
	return err
}

func (t traced) Dropped(ctx context.Context, scope memory.Scope, turnIDs []string) ([]memory.Dropped, error) {
	ctx, end := t.start(ctx, "dropped")
	dropped, err := t.next.Dropped(ctx, scope, turnIDs)
	end(len(dropped), err)
	return dropped, err
}

func (t traced) EraseDropped(ctx context.Context, scope memory.Scope) error {
	ctx, end := t.start(ctx, "erase_dropped")
	err := t.next.EraseDropped(ctx, scope)
	end(-1, err)
	return err
}

func (t traced) Erase(ctx context.Context, scope memory.Scope) error {
	ctx, end := t.start(ctx, "erase")
	err := t.next.Erase(ctx, scope)
	end(-1, err)
	return err
}

func (t traced) Count(ctx context.Context, scope memory.Scope) (Counts, error) {
	ctx, end := t.start(ctx, "count")
	counts, err := t.next.Count(ctx, scope)
	end(counts.Total(), err)
	return counts, err
}

func (t traced) Ping(ctx context.Context) error {
	ctx, end := t.start(ctx, "ping")
	err := t.next.Ping(ctx)
	end(-1, err)
	return err
}
