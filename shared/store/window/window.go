// Package window is the port to working memory W: the recent salient turns of a user in a sliding window. Package
// windowtest has the conformance suite that every store passes.
package window

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/mneme-memory/mneme/shared/memory"
)

// Kept is a turn that stays in the window until a time, and no longer.
type Kept struct {
	Turn  memory.Turn
	Until time.Time
}

// Counts has the numbers of stored objects of a user.
type Counts struct {
	// Turns is the number of turns in the window.
	Turns int
	// Retired is the number of turn ids that may not come back.
	Retired int
}

// Window keeps the recent salient turns of all users. Implementations are safe for concurrent use. A user without
// data has an empty window, not an error.
type Window interface {
	// Append adds turns. It is atomic per call and idempotent by turn id: a turn that is in the window, or was retired
	// from it, is not added again. Turns beyond the limits are dropped, oldest first, in any order of arrival. A kept
	// turn is also dropped if the newest turn is later than its time.
	Append(ctx context.Context, scope memory.Scope, turns []memory.Turn) error
	// Keep keeps turns in the window until a time each, outside the budget of other turns. It adds a turn that is not
	// in the window and was not retired from it. An already kept turn stays until the later time. It is atomic per
	// call.
	Keep(ctx context.Context, scope memory.Scope, kept []Kept) error
	// Recent returns the window at a time, by ascending time, then id. It omits turns that were kept until before that
	// time. A zero time omits none.
	Recent(ctx context.Context, scope memory.Scope, at time.Time) ([]memory.Turn, error)
	// Retire removes turns, and prevents their next append for the lifetime of the window.
	Retire(ctx context.Context, scope memory.Scope, turnIDs []string) error
	// Erase removes all data of the user: the turns and the retired ids. It is idempotent.
	Erase(ctx context.Context, scope memory.Scope) error
	// Reinstate removes the retired ids and the kept turns, and leaves the other turns. It is idempotent.
	Reinstate(ctx context.Context, scope memory.Scope) error
	// Count returns the numbers of stored objects of the user.
	Count(ctx context.Context, scope memory.Scope) (Counts, error)
}

// Limits limit a window. All hold at once.
type Limits struct {
	// Words is the maximum number of words in the window, counted by the function Words. The newest turn stays at any
	// length. Kept turns have a separate budget of the same size, so that neither kind displaces the other.
	Words int
	// Age is the maximum age of a turn compared with the user's newest turn. It uses the turns' time, so that an
	// imported conversation has a window, too.
	Age time.Duration
	// Idle is the time without a write after which the whole window is deleted, by the clock.
	Idle time.Duration
}

// DefaultLimits returns the limits of the services: about the turns that a user still remembers, in a size that a
// recall can show.
func DefaultLimits() Limits { return Limits{Words: 600, Age: 72 * time.Hour, Idle: 720 * time.Hour} }

// Validate checks that the limits are positive: at least one word, and times of at least a millisecond, the precision
// of stores.
func (l Limits) Validate() error {
	switch {
	case l.Words < 1:
		return fmt.Errorf("window limits: words is %d, want at least 1", l.Words)
	case l.Age < time.Millisecond:
		return fmt.Errorf("window limits: age is %s, want at least 1ms", l.Age)
	case l.Idle < time.Millisecond:
		return fmt.Errorf("window limits: idle is %s, want at least 1ms", l.Idle)
	}
	return nil
}

// BytesPerWord is about twice the length of a word in languages with spaces between words.
const BytesPerWord = 12

// Words returns the number of words in a turn's text and caption, and at least one per BytesPerWord bytes. Some
// scripts have no spaces between words, and a budget of words also limits the memory use.
func Words(t memory.Turn) int {
	bytes := len(t.Text) + len(t.Caption)
	return max(len(strings.Fields(t.Text))+len(strings.Fields(t.Caption)), (bytes+BytesPerWord-1)/BytesPerWord)
}

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
