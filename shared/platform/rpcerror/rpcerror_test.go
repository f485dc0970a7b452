package rpcerror_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"
	kafkago "github.com/segmentio/kafka-go"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

// answer is an error that a Redis server sends.
type answer string

func (a answer) Error() string { return string(a) }

func (answer) RedisError() {}

func TestCodes(t *testing.T) {
	const internal = "dial tcp 10.1.2.3:8080"
	dial := fmt.Errorf("reach: %w", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)})
	refused := connect.NewError(connect.CodeUnauthenticated, errors.New("no credential"))
	tests := []struct {
		name string
		err  error
		code connect.Code
		text string
	}{
		{"bad input names the field", fault.Terminal("query", "is empty"), connect.CodeInvalidArgument, "query: is empty"},
		{"bad input, wrapped", fmt.Errorf("check: %w", fault.Terminal("query", "is empty")), connect.CodeInvalidArgument,
			"query: is empty"},
		{"no entry", fmt.Errorf(internal+": %w", bank.ErrNotFound), connect.CodeNotFound, "not found"},
		{"the caller has gone", fmt.Errorf(internal+": %w", context.Canceled), connect.CodeCanceled, "cancelled"},
		{"the time is up", fmt.Errorf(internal+": %w", context.DeadlineExceeded), connect.CodeDeadlineExceeded, "deadline"},
		{"no retry helps against a bug", errors.New(internal), connect.CodeInternal, "does not help"},
		{"a server refuses connections", dial, connect.CodeUnavailable, "try again"},
		{"a server hangs up", fmt.Errorf(internal+": %w", io.ErrUnexpectedEOF), connect.CodeUnavailable, "try again"},
		{"an adapter says so", fmt.Errorf(internal+": %w", fault.ErrUnavailable), connect.CodeUnavailable, "try again"},
		{"a model's answer is of no use", fmt.Errorf(internal+": %w", fault.ErrUnusableAnswer), connect.CodeUnavailable,
			"try again"},
		{"the bank is overloaded", fmt.Errorf(internal+": %w", status.Error(codes.ResourceExhausted, internal)),
			connect.CodeUnavailable,
			"try again"},
		{"the bank has a bug", fmt.Errorf(internal+": %w", status.Error(codes.Internal, internal)), connect.CodeInternal,
			"does not help"},
		{"Temporal cannot serve", fmt.Errorf(internal+": %w", serviceerror.NewUnavailable(internal)), connect.CodeUnavailable,
			"try again"},
		{"Temporal refuses the request", fmt.Errorf(internal+": %w", serviceerror.NewInvalidArgument(internal)),
			connect.CodeInternal,
			"does not help"},
		{"Kafka elects a leader", fmt.Errorf(internal+": %w", kafkago.LeaderNotAvailable), connect.CodeUnavailable,
			"try again"},
		{"Kafka refuses the client", fmt.Errorf(internal+": %w", kafkago.TopicAuthorizationFailed), connect.CodeInternal,
			"does not help"},
		{"Redis starts", fmt.Errorf(internal+": %w", answer("LOADING Redis is loading the dataset")), connect.CodeUnavailable,
			"try again"},
		{"Redis refuses the command", fmt.Errorf(internal+": %w", answer("WRONGTYPE of key")), connect.CodeInternal,
			"does not help"},
		{"a code that is chosen already stays", refused, connect.CodeUnauthenticated, "no credential"},
		{"a chosen code stays where it is wrapped", fmt.Errorf("recall: %w", refused), connect.CodeUnauthenticated,
			"no credential"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := rpcerror.From(tt.err)
			if connect.CodeOf(got) != tt.code || !strings.Contains(got.Error(), tt.text) {
				t.Errorf("got %v, want %v with %q", got, tt.code, tt.text)
			}
			if strings.Contains(got.Error(), internal) {
				t.Errorf("shows internals: %v", got)
			}
		})
	}
}

func TestNoErrorStaysNone(t *testing.T) {
	if err := rpcerror.From(nil); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestTheCauseIsLoggedWhereCallersAreNotShownIt(t *testing.T) {
	for err, want := range map[error]bool{
		nil: false, errors.New("10.1.2.3 has a bug"): true, fault.ErrUnavailable: true,
		fault.Terminal("query", "is empty"): false,
		context.Canceled:                    false,
	} {
		var out strings.Builder
		got := rpcerror.Logged(t.Context(), slog.New(slog.NewTextHandler(&out, nil)), "recall", err)
		if (got == nil) != (err == nil) || strings.Contains(out.String(), "recall") != want ||
			want && !strings.Contains(out.String(), err.Error()) {
			t.Errorf("%v: got %v and logged %q", err, got, out.String())
		}
	}
}
