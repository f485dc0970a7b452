// Package fault says whether an operation that went wrong can succeed when it is tried
// again as it is. Bus consumers and workflow activities decide by it: what is retryable is
// retried with back-off, what is terminal goes to the dead letters.
package fault

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// ErrUnusableAnswer marks errors of a model that answered, but not with anything that can be
// used: malformed, truncated, refused, empty. A few more tries may help; endless ones would
// stall what comes after.
var ErrUnusableAnswer = errors.New("model answer cannot be used")

// ErrAskLess marks those of ErrUnusableAnswer that come again when the same is asked, and perhaps not when less is: the answer did not
// fit, or was refused for a part of what was said.
var ErrAskLess = errors.New("model gives no answer about this much")

// ErrBudget marks errors of work that a budget of model tokens does not allow: it may be done otherwise now, or like that later.
var ErrBudget = errors.New("budget of model tokens is used up")

// ErrUnavailable marks errors of a dependency that cannot serve at the moment, and will again.
var ErrUnavailable = errors.New("unavailable")

// LaterError is an error of work whose turn comes at a time that is known: whoever holds a place for it may give that to others until then.
type LaterError struct {
	// After is how long it is until then.
	After time.Duration
	// Err says what is waited for.
	Err error
}

// Error says what is waited for, and how long.
func (e *LaterError) Error() string {
	return fmt.Sprintf("%v, again in %s", e.Err, e.After.Round(time.Second))
}

// Unwrap returns what is waited for.
func (e *LaterError) Unwrap() error { return e.Err }

type patience struct {
	most  time.Duration
	begun atomic.Bool
}

type patienceKey struct{}

// WithPatience has work under the returned context end with a LaterError that would have to wait longer than that for its turn. What has
// begun waits as long as it has to: to come again would be to do twice what is done.
func WithPatience(ctx context.Context, most time.Duration) context.Context {
	return context.WithValue(ctx, patienceKey{}, &patience{most: most})
}

// Begin says that it is the turn of work under ctx.
func Begin(ctx context.Context) {
	if p, ok := ctx.Value(patienceKey{}).(*patience); ok {
		p.begun.Store(true)
	}
}

// Impatient reports whether work under ctx would rather end than wait for that long.
func Impatient(ctx context.Context, wait time.Duration) bool {
	p, ok := ctx.Value(patienceKey{}).(*patience)
	return ok && wait > p.most && !p.begun.Load()
}

// TerminalError is an error that no retry can repair: the input itself is wrong.
type TerminalError struct {
	// Field is the input field at fault, in contract notation ("turn.text"); empty when the whole input is.
	Field string
	// Err says what was expected.
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

// IsTerminal reports whether err, or an error it wraps, is terminal.
func IsTerminal(err error) bool {
	var t *TerminalError
	return errors.As(err, &t)
}

// Field returns the field a terminal error names, or "".
func Field(err error) string {
	var t *TerminalError
	if errors.As(err, &t) {
		return t.Field
	}
	return ""
}
