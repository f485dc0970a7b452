package mcp

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/mneme-memory/mneme/client"
	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/services/gateway/ingest"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/memory"
)

// gatewayIngest sends turns through the gateway. Its errors are problems in MCP's form.
type gatewayIngest struct{ gateway *client.Client }

// Turns sends turns and returns the turns that the gateway left out or shortened.
func (g gatewayIngest) Turns(ctx context.Context, user, session string, turns []memory.Turn) ([]ingest.Outcome, error) {
	out := make([]client.Turn, len(turns))
	for i, t := range turns {
		out[i] = client.Turn{
			ID: t.ID, Speaker: t.Speaker, Role: string(t.Role), Text: t.Text, Caption: t.Caption, Time: t.Time,
			Metadata: t.Metadata, AgentID: t.AgentID, AppID: t.AppID, RunID: t.RunID,
		}
	}
	added, err := g.gateway.AddTurns(ctx, user, session, out)
	var some *client.LeftOutError
	if err != nil && !errors.As(err, &some) {
		return nil, console.GatewayProblem(err)
	}
	var outcomes []ingest.Outcome
	for _, t := range added {
		if t.ShortenedBy > 0 || t.NotRemembered != "" {
			outcomes = append(outcomes, ingest.Outcome{Turn: t.Place, Shortened: t.ShortenedBy, NotRemembered: t.NotRemembered})
		}
	}
	if some != nil {
		for _, t := range some.Turns {
			outcomes = append(outcomes, ingest.Outcome{Turn: t.Place, Problem: problem.Problem{
				Status: http.StatusBadRequest, Code: t.Code, Field: t.Field, Detail: t.Detail,
			}})
		}
	}
	return outcomes, nil
}

// CloseSession marks a session as ended. The gateway sets the time.
func (g gatewayIngest) CloseSession(ctx context.Context, user, session, last string, _ time.Time) error {
	return console.GatewayProblem(g.gateway.CloseSession(ctx, user, session, last))
}
