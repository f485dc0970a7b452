// Package rpcerror maps the project's errors to RPC codes. It is the one place that knows both.
package rpcerror

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// From returns err as a connect error. Bad input says which field; anything unknown is
// unavailable, because a caller's retry is what may mend it. Causes that name internals
// are not shown to callers: log them where they happen.
func From(err error) error {
	var known *connect.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case fault.IsTerminal(err):
		return connect.NewError(connect.CodeInvalidArgument, err)
	case errors.Is(err, bank.ErrNotFound):
		return connect.NewError(connect.CodeNotFound, bank.ErrNotFound)
	case errors.Is(err, context.Canceled):
		return connect.NewError(connect.CodeCanceled, errors.New("cancelled"))
	case errors.Is(err, context.DeadlineExceeded):
		return connect.NewError(connect.CodeDeadlineExceeded, errors.New("deadline exceeded"))
	default:
		return connect.NewError(connect.CodeUnavailable, errors.New("memory is not available at the moment, try again"))
	}
}
