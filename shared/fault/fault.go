// Package fault says whether a failed operation can succeed when it is tried again unchanged. Bus consumers and
// workflow activities decide by it. They retry a retryable error with back-off. A terminal error goes to the dead
// letters.
package fault

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// ErrUnusableAnswer marks errors of a model that gave an unusable answer: malformed, truncated, refused or empty. A
// few more tries may help. Endless tries would stall the work after it.
var ErrUnusableAnswer = errors.New("model answer cannot be used")

// ErrAskLess marks errors of ErrUnusableAnswer that come again for the same request. A smaller request may succeed:
// the answer did not fit, or the model refused a part of the text.
var ErrAskLess = errors.New("model cannot answer a request of this size")

// ErrBudget marks errors of work that exceeds a budget of model tokens. The work can be done now without the model,
// or later with it.
var ErrBudget = errors.New("budget of model tokens is used up")

// ErrUnavailable marks errors of a dependency that cannot serve now. It is expected to serve again later.
var ErrUnavailable = errors.New("unavailable")

// LaterError is an error of work that can start at a known later time. A holder of a place for the work may give
// the place away until then.
type LaterError struct {
	// After is the time until then.
	After time.Duration
	// Err names the awaited condition.
	Err error
}

// Error gives the awaited condition and the time until it.
func (e *LaterError) Error() string {
	return fmt.Sprintf("%v, retry in %s", e.Err, e.After.Round(time.Second))
}

// Unwrap returns the awaited condition.
func (e *LaterError) Unwrap() error { return e.Err }

type patience struct {
	most  time.Duration
	begun atomic.Bool
}

type patienceKey struct{}

// WithPatience returns a context for work with a limit on its wait. Work that would wait longer than most ends with
// a LaterError. Work that has begun waits without this limit, because a later start would repeat it.
func WithPatience(ctx context.Context, most time.Duration) context.Context {
	return context.WithValue(ctx, patienceKey{}, &patience{most: most})
}

// Begin marks work under ctx as begun.
func Begin(ctx context.Context) {
	if p, ok := ctx.Value(patienceKey{}).(*patience); ok {
		p.begun.Store(true)
	}
}

// Impatient reports whether work under ctx prefers to end rather than wait for that time.
func Impatient(ctx context.Context, wait time.Duration) bool {
	p, ok := ctx.Value(patienceKey{}).(*patience)
	return ok && wait > p.most && !p.begun.Load()
}

// TerminalError is an error that no retry can repair: the input itself is wrong.
type TerminalError struct {
	// Field is the input field at fault, in contract notation ("turn.text"). It is empty where the whole input is
	// at fault.
	Field string
	// Err describes the expected input.
	Err error
}

// Error names the field first, because operators read the beginning of a line.
func (e *TerminalError) Error() string {
	if e.Field == "" {
		return e.Err.Error()
	}
	return e.Field + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *TerminalError) Unwrap() error { return e.Err }

// Terminal makes a terminal error about a field; field may be empty.
func Terminal(field, format string, args ...any) error {
	return &TerminalError{Field: field, Err: fmt.Errorf(format, args...)}
}

// During names the operation that an error comes from. A nil error stays nil.
func During(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// IsTerminal reports whether err, or an error it wraps, is terminal.
func IsTerminal(err error) bool {
	_, ok := errors.AsType[*TerminalError](err)
	return ok
}

// Field returns the field a terminal error names, or "".
func Field(err error) string {
	if t, ok := errors.AsType[*TerminalError](err); ok {
		return t.Field
	}
	return ""
}
