package consolidation

import (
	"errors"
	"slices"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// Types of activity failures. Temporal does not retry them, except errorLater: such an activity comes again when its
// time comes.
const (
	errorTerminal  = "terminal"
	errorMalformed = "malformed"
	errorTooLarge  = "too_large"
	errorTooLong   = "too_long" // or a refusal
	errorBudget    = "budget"
	errorLater     = "later"
	errorPanic     = "PanicError" // the SDK's name
)

// classify sets how Temporal retries an error. A terminal error sends the turns to the dead letters. If a model gives
// no answer about so much text, the workflow asks about parts. The workflow retries another unusable answer a few
// times, and Temporal retries all other errors for maxDuration.
func classify(err error) error {
	var later *fault.LaterError
	switch {
	case errors.As(err, &later):
		return temporal.NewApplicationErrorWithOptions(err.Error(), errorLater, temporal.ApplicationErrorOptions{
			Cause: err, NextRetryDelay: later.After,
		})
	case errors.Is(err, fault.ErrBudget):
		return temporal.NewNonRetryableApplicationError(err.Error(), errorBudget, err)
	case errors.Is(err, fault.ErrAskLess):
		return temporal.NewNonRetryableApplicationError(err.Error(), errorTooLong, err)
	case errors.Is(err, fault.ErrUnusableAnswer):
		return temporal.NewApplicationErrorWithCause(err.Error(), errorMalformed, err)
	case fault.IsTerminal(err), errors.Is(err, bank.ErrEmbeddingMismatch):
		return temporal.NewNonRetryableApplicationError(err.Error(), errorTerminal, err)
	default:
		return err
	}
}

// logger lowers the level of failures that no retry repairs to warnings, because callers or a dead letter report them.
// It logs an activity that only waits for its time as information. The SDK logs all failed activities as errors. The
// logger replaces the user's id in workflow ids.
type logger struct{ log.Logger }

// With implements log.WithLogger.
func (l logger) With(keyvals ...any) log.Logger {
	return logger{log.With(l.Logger, shownValues(keyvals)...)}
}

// Debug implements log.Logger.
func (l logger) Debug(msg string, keyvals ...any) { l.Logger.Debug(msg, shownValues(keyvals)...) }

// Info implements log.Logger.
func (l logger) Info(msg string, keyvals ...any) { l.Logger.Info(msg, shownValues(keyvals)...) }

// Warn implements log.Logger.
func (l logger) Warn(msg string, keyvals ...any) { l.Logger.Warn(msg, shownValues(keyvals)...) }

// Error implements log.Logger.
func (l logger) Error(msg string, keyvals ...any) {
	for _, v := range keyvals {
		err, ok := v.(error)
		if ok && errors.As(err, new(*fault.LaterError)) {
			l.Info(msg, keyvals...)
			return
		}
		if ok && (fault.IsTerminal(err) || errors.Is(err, fault.ErrBudget) || errors.Is(err, fault.ErrAskLess)) {
			l.Warn(msg, keyvals...)
			return
		}
	}
	l.Logger.Error(msg, shownValues(keyvals)...)
}

// shownValues returns the values of a log line, with workflow ids in the form of ShownID.
func shownValues(keyvals []any) []any {
	out := slices.Clone(keyvals)
	for i, v := range out {
		if id, ok := v.(string); ok {
			out[i] = ShownID(id)
		}
	}
	return out
}
