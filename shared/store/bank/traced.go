package bank

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Traced returns b with a client span "memory.bank.<operation>" around each call. Spans have the system, the
// operation and counts. They have no ids of tenants and users, no queries and no contents. ErrNotFound is a normal
// result and does not mark a span as failed.
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

// call makes one call in a span. count returns the number of entries in a result. It is nil for calls without
// entries.
func call[T any](
	ctx context.Context, t traced, operation string, do func(context.Context) (T, error), count func(T) int,
	attributes ...attribute.KeyValue,
) (T, error) {
	attributes = append(attributes, semconv.DBOperationName(operation))
	if t.system != "" {
		attributes = append(attributes, semconv.DBSystemNameKey.String(t.system))
	}
	ctx, span := t.tracer.Start(ctx, "memory.bank."+operation,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
	defer span.End()
	result, err := do(ctx)
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		span.RecordError(err)
		span.SetStatus(codes.Error, operation)
	case err != nil:
		span.SetAttributes(semconv.DBResponseReturnedRowsKey.Int(0))
	case count != nil:
		span.SetAttributes(semconv.DBResponseReturnedRowsKey.Int(count(result)))
	}
	return result, err
}

// run makes a call without a result.
func (t traced) run(
	ctx context.Context, operation string, do func(context.Context) error, attributes ...attribute.KeyValue,
) error {
	_, err := call(ctx, t, operation, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, do(ctx)
	}, nil, attributes...)
	return err
}

func one[T any](T) int { return 1 }

func length[T any](all []T) int { return len(all) }

func itself(n int) int { return n }

func (t traced) Write(ctx context.Context, scope memory.Scope, w memory.Write) error {
	return t.run(ctx, "write", func(ctx context.Context) error { return t.next.Write(ctx, scope, w) },
		semconv.DBOperationBatchSize(len(w.Put)+len(w.Close)))
}

// read makes a call about a user with one more argument.
func read[A, T any](
	ctx context.Context, t traced, operation string, do func(context.Context, memory.Scope, A) (T, error),
	scope memory.Scope, arg A, count func(T) int,
) (T, error) {
	return call(ctx, t, operation, func(ctx context.Context) (T, error) { return do(ctx, scope, arg) }, count)
}

func (t traced) Get(ctx context.Context, scope memory.Scope, id string) (memory.Memory, error) {
	return read(ctx, t, "get", t.next.Get, scope, id, one)
}

func (t traced) List(ctx context.Context, scope memory.Scope, o ListOptions) (Page, error) {
	return read(ctx, t, "list", t.next.List, scope, o, func(p Page) int { return len(p.Memories) })
}

func (t traced) History(ctx context.Context, scope memory.Scope, id string) ([]memory.Memory, error) {
	return read(ctx, t, "history", t.next.History, scope, id, length)
}

func (t traced) Search(ctx context.Context, scope memory.Scope, q Query) ([]Scored, error) {
	return read(ctx, t, "search", t.next.Search, scope, q, length)
}

func (t traced) Turns(ctx context.Context, scope memory.Scope, ids []string) ([]memory.Turn, error) {
	return read(ctx, t, "turns", t.next.Turns, scope, ids, length)
}

func (t traced) Core(ctx context.Context, scope memory.Scope) (memory.Core, error) {
	return call(ctx, t, "core", func(ctx context.Context) (memory.Core, error) { return t.next.Core(ctx, scope) }, nil)
}

func (t traced) Session(
	ctx context.Context, scope memory.Scope, sessionID string,
) (r memory.SessionRecord, ok bool, err error) {
	r, err = call(ctx, t, "session", func(ctx context.Context) (memory.SessionRecord, error) {
		r, ok, err = t.next.Session(ctx, scope, sessionID)
		return r, err
	}, func(memory.SessionRecord) int {
		if ok {
			return 1
		}
		return 0
	})
	return r, ok, err
}

func (t traced) Owner(ctx context.Context, tenant, id string) (string, error) {
	return call(ctx, t, "owner", func(ctx context.Context) (string, error) { return t.next.Owner(ctx, tenant, id) }, one)
}

func (t traced) ListTurns(ctx context.Context, scope memory.Scope, o PageOptions) (TurnPage, error) {
	return read(ctx, t, "list_turns", t.next.ListTurns, scope, o, func(p TurnPage) int { return len(p.Turns) })
}

func (t traced) ListSessions(ctx context.Context, scope memory.Scope, o PageOptions) (SessionPage, error) {
	return read(ctx, t, "list_sessions", t.next.ListSessions, scope, o, func(p SessionPage) int { return len(p.Sessions) })
}

func (t traced) WriteDropped(ctx context.Context, scope memory.Scope, dropped []memory.Dropped) error {
	return t.run(ctx, "write_dropped", func(ctx context.Context) error { return t.next.WriteDropped(ctx, scope, dropped) },
		semconv.DBOperationBatchSize(len(dropped)))
}

func (t traced) Dropped(ctx context.Context, scope memory.Scope, turnIDs []string) ([]memory.Dropped, error) {
	return read(ctx, t, "dropped", t.next.Dropped, scope, turnIDs, length)
}

func (t traced) EraseDropped(ctx context.Context, scope memory.Scope) error {
	return t.run(ctx, "erase_dropped", func(ctx context.Context) error { return t.next.EraseDropped(ctx, scope) })
}

func (t traced) EraseTalk(ctx context.Context, scope memory.Scope, before time.Time) error {
	return t.run(ctx, "erase_talk", func(ctx context.Context) error { return t.next.EraseTalk(ctx, scope, before) })
}

func (t traced) Erase(ctx context.Context, scope memory.Scope) error {
	return t.run(ctx, "erase", func(ctx context.Context) error { return t.next.Erase(ctx, scope) })
}

func (t traced) Count(ctx context.Context, scope memory.Scope) (Counts, error) {
	return call(ctx, t, "count", func(ctx context.Context) (Counts, error) {
		return t.next.Count(ctx, scope)
	}, Counts.Total)
}

func (t traced) CountListed(ctx context.Context, scope memory.Scope, o ListOptions) (int, error) {
	return read(ctx, t, "count_listed", t.next.CountListed, scope, o, itself)
}

func (t traced) CountMemories(ctx context.Context, tenant string) (int, error) {
	return call(ctx, t, "count_memories", func(ctx context.Context) (int, error) {
		return t.next.CountMemories(ctx, tenant)
	}, itself)
}
