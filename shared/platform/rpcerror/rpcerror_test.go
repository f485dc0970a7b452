package rpcerror_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/rpcerror"
	"github.com/mneme-memory/mneme/shared/store/bank"
)

func TestCodes(t *testing.T) {
	const internal = "dial tcp 10.1.2.3:8080"
	refused := connect.NewError(connect.CodeUnauthenticated, errors.New("no credential"))
	tests := []struct {
		name string
		err  error
		code connect.Code
		text string
	}{
		{"bad input names the field", fault.Terminal("query", "is empty"), connect.CodeInvalidArgument, "query: is empty"},
		{"bad input, wrapped", fmt.Errorf("check: %w", fault.Terminal("query", "is empty")), connect.CodeInvalidArgument, "query: is empty"},
		{"no entry", fmt.Errorf(internal+": %w", bank.ErrNotFound), connect.CodeNotFound, "not found"},
		{"the caller has gone", fmt.Errorf(internal+": %w", context.Canceled), connect.CodeCanceled, "cancelled"},
		{"the time is up", fmt.Errorf(internal+": %w", context.DeadlineExceeded), connect.CodeDeadlineExceeded, "deadline"},
		{"anything else may be mended by a retry", errors.New(internal), connect.CodeUnavailable, "try again"},
		{"a code that is chosen already stays", refused, connect.CodeUnauthenticated, "no credential"},
		{"a chosen code stays where it is wrapped", fmt.Errorf("recall: %w", refused), connect.CodeUnauthenticated, "no credential"},
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
