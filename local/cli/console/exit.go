package console

import (
	"errors"
	"net"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/client"
	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/platform/runner"
)

// ExitCode returns the exit code of an error.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return command.ExitOK
	case command.IsUsage(err), errors.Is(err, dataset.ErrFormat), connect.CodeOf(err) == connect.CodeInvalidArgument:
		return command.ExitUsage
	case errors.Is(err, standalone.ErrNotRunning), isUnreachable(err):
		return command.ExitUnreachable
	default:
		return command.ExitFailed
	}
}

// isUnreachable reports whether no Mneme answers, or it does not know the key.
func isUnreachable(err error) bool {
	var unreachable command.UnreachableError
	var need *runner.NeedError
	var network *net.OpError
	var p problem.Problem
	if errors.As(err, &unreachable) || errors.As(err, &need) || errors.As(err, &network) {
		return true
	}
	if errors.As(err, &p) {
		return p.Code == problem.CodeUnavailable || p.Code == problem.CodeUnauthenticated
	}
	code := connect.CodeOf(err)
	return code == connect.CodeUnavailable || code == connect.CodeUnauthenticated
}

// Hint returns the next step after a known error.
func Hint(err error) string {
	switch {
	case errors.Is(err, standalone.ErrNotRunning):
		return "start one with `mneme up`, or name one with --url and --key"
	case errors.Is(err, standalone.ErrInUse):
		return "stop that one first, or choose another folder with --data"
	case connect.CodeOf(err) == connect.CodeUnauthenticated:
		return "check --key or MNEME_API_KEY"
	case connect.CodeOf(err) == connect.CodeUnavailable:
		return "is it running? `mneme up` starts a local one; --url names another"
	}
	return ""
}

// GatewayProblem converts an error of the gateway's client to a problem.
func GatewayProblem(err error) error {
	p, ok := errors.AsType[*client.Problem](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return problem.Problem{Status: http.StatusServiceUnavailable, Code: problem.CodeUnavailable, Detail: err.Error()}
	case p.Code == "":
		return problem.Problem{Status: p.Status, Code: problem.CodeInternal, Detail: p.Detail, RetryAfter: p.RetryAfter}
	}
	return problem.Problem{
		Status: p.Status, Code: p.Code, Field: p.Field, Detail: strings.TrimPrefix(p.Detail, p.Field+": "),
		RetryAfter: p.RetryAfter,
	}
}
