package console

import (
	"errors"
	"net/http"
	"strings"

	"github.com/mneme-memory/mneme/client"
	"github.com/mneme-memory/mneme/services/gateway/door"
)

// GatewayProblem converts an error of the gateway's client to a problem.
func GatewayProblem(err error) error {
	var p *client.Problem
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &p):
		return door.Problem{Status: http.StatusServiceUnavailable, Code: door.CodeUnavailable, Detail: err.Error()}
	case p.Code == "":
		return door.Problem{Status: p.Status, Code: door.CodeInternal, Detail: p.Detail, RetryAfter: p.RetryAfter}
	}
	return door.Problem{
		Status: p.Status, Code: p.Code, Field: p.Field, Detail: strings.TrimPrefix(p.Detail, p.Field+": "), RetryAfter: p.RetryAfter,
	}
}
