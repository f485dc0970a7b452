package cli

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/client"
	"github.com/mneme-memory/mneme/services/gateway/ingest"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/memory"
)

// gatewayIngest sends turns through the gateway. Its errors are problems in MCP's form.
type gatewayIngest struct{ gateway *client.Client }

// Turns sends turns and returns the turns that the gateway left out.
func (g gatewayIngest) Turns(ctx context.Context, user, session string, turns []memory.Turn) ([]ingest.LeftOut, error) {
	out := make([]client.Turn, len(turns))
	for i, t := range turns {
		out[i] = client.Turn{
			ID: t.ID, Speaker: t.Speaker, Role: string(t.Role), Text: t.Text, Caption: t.Caption, Time: t.Time,
			Metadata: t.Metadata, AgentID: t.AgentID, AppID: t.AppID, RunID: t.RunID,
		}
	}
	_, err := g.gateway.AddTurns(ctx, user, session, out)
	var some *client.LeftOutError
	if !errors.As(err, &some) {
		return nil, told(err)
	}
	left := make([]ingest.LeftOut, len(some.Turns))
	for i, t := range some.Turns {
		left[i] = ingest.LeftOut{Turn: t.Place, Problem: problem.Problem{
			Status: http.StatusBadRequest, Code: t.Code, Field: t.Field, Detail: t.Detail,
		}}
	}
	return left, nil
}

// CloseSession marks a session as ended. The gateway sets the time.
func (g gatewayIngest) CloseSession(ctx context.Context, user, session, last string, _ time.Time) error {
	return told(g.gateway.CloseSession(ctx, user, session, last))
}

// told converts an error of the gateway's client to a problem.
func told(err error) error {
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
		Status: p.Status, Code: p.Code, Field: p.Field, Detail: strings.TrimPrefix(p.Detail, p.Field+": "), RetryAfter: p.RetryAfter,
	}
}
