package console

import (
	"errors"
	"net/http"
	"strings"

	"github.com/mneme-memory/mneme/client"
	"github.com/mneme-memory/mneme/services/gateway/problem"
)

// GatewayProblem converts an error of the gateway's client to a problem.
func GatewayProblem(err error) error {
	var p *client.Problem
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &p):
		return problem.Problem{Status: http.StatusServiceUnavailable, Code: problem.CodeUnavailable, Detail: err.Error()}
	case p.Code == "":
		return problem.Problem{Status: p.Status, Code: problem.CodeInternal, Detail: p.Detail, RetryAfter: p.RetryAfter}
	}
	return problem.Problem{
		Status: p.Status, Code: p.Code, Field: p.Field, Detail: strings.TrimPrefix(p.Detail, p.Field+": "),
		RetryAfter: p.RetryAfter,
	}
}
