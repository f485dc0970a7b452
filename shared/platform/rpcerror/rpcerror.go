// Package rpcerror maps the project's errors to RPC codes. It is the only place that knows both.
package rpcerror

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"connectrpc.com/connect"
	"github.com/redis/go-redis/v9"
	kafkago "github.com/segmentio/kafka-go"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// From returns err as a connect error. Bad input names the field. Only an error that a retry can repair is
// unavailable. An unknown error is an internal error, because callers would retry an unavailable bug for ever.
// Callers do not see causes that name internals. Logged logs them for operators.
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
	case unavailable(err):
		return connect.NewError(connect.CodeUnavailable, errors.New("memory is not available at the moment, try again"))
	}
	return connect.NewError(connect.CodeInternal,
		errors.New("an internal error: a retry does not help, and the service's log has the cause"))
}

// Logged is From with a log line for causes that callers do not see. The log line names the operation.
func Logged(ctx context.Context, log *slog.Logger, what string, err error) error {
	out := From(err)
	if code := connect.CodeOf(out); err != nil && (code == connect.CodeUnavailable || code == connect.CodeInternal) {
		log.ErrorContext(ctx, what, "error", err)
	}
	return out
}

// retryableCodes are the codes of reachable servers that cannot serve at the moment.
var retryableCodes = []codes.Code{codes.Unavailable, codes.ResourceExhausted, codes.Aborted, codes.DeadlineExceeded}

// redisStates begin the answers of a Redis server that is starting, failing over, or without memory.
var redisStates = []string{"LOADING", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "NOREPLICAS", "OOM", "BUSY"}

// unavailable reports whether a dependency cannot be reached or cannot serve at the moment.
func unavailable(err error) bool {
	for _, known := range []error{
		fault.ErrUnavailable, fault.ErrUnusableAnswer, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, os.ErrDeadlineExceeded,
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, redis.ErrPoolTimeout, redis.ErrPoolExhausted,
		redis.ErrClosed,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	var dial *net.OpError
	var lookup *net.DNSError
	var broker kafkago.Error
	var answer interface{ GRPCStatus() *status.Status }
	var temporal interface{ Status() *status.Status }
	var server redis.Error
	switch {
	case errors.As(err, &dial), errors.As(err, &lookup):
		return true
	case errors.As(err, &broker):
		return broker.Temporary() || broker.Timeout()
	case errors.As(err, &answer):
		return slices.Contains(retryableCodes, answer.GRPCStatus().Code())
	case errors.As(err, &temporal):
		return slices.Contains(retryableCodes, temporal.Status().Code())
	case errors.As(err, &server):
		return slices.ContainsFunc(redisStates, func(state string) bool { return strings.HasPrefix(server.Error(), state) })
	}
	return false
}
