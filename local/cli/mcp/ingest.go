package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mneme-memory/mneme/client"
	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/services/gateway/ingest"
	"github.com/mneme-memory/mneme/services/gateway/problem"
)

// gatewayIngest sends turns through the gateway. Its errors are problems in MCP's form.
type gatewayIngest struct{ gateway *client.Client }

// Turns sends the readable turns. It returns the turns that the gateway left out or shortened, and the unreadable ones.
func (g gatewayIngest) Turns(ctx context.Context, user, session string, turns []ingest.Turn) ([]ingest.Outcome, error) {
	var out []client.Turn
	var outcomes []ingest.Outcome
	var places []int // of the sent turns
	for i, t := range turns {
		if t.Wrong != nil {
			outcomes = append(outcomes, ingest.Outcome{Turn: i, Problem: problem.From(t.Wrong)})
			continue
		}
		places = append(places, i)
		out = append(out, client.Turn{
			ID: t.ID, Speaker: t.Speaker, Role: string(t.Role), Text: t.Text, Caption: t.Caption, Time: t.Time,
			Metadata: t.Metadata, AgentID: t.AgentID, AppID: t.AppID, RunID: t.RunID,
		})
	}
	if len(out) == 0 && len(outcomes) > 0 {
		return nil, ingest.NoneAccepted(outcomes)
	}
	added, err := g.gateway.AddTurns(ctx, user, session, out)
	var some *client.LeftOutError
	if err != nil && !errors.As(err, &some) {
		return nil, console.GatewayProblem(err)
	}
	for _, t := range added {
		if t.ShortenedBy > 0 || t.NotRemembered != "" {
			outcomes = append(outcomes, ingest.Outcome{Turn: places[t.Place], Shortened: t.ShortenedBy,
				NotRemembered: t.NotRemembered})
		}
	}
	if some != nil {
		for _, t := range some.Turns {
			at := places[t.Place]
			_, field, _ := strings.Cut(t.Field, "]")
			outcomes = append(outcomes, ingest.Outcome{Turn: at, Problem: problem.Problem{
				Status: http.StatusBadRequest, Code: t.Code, Field: fmt.Sprintf("turns[%d]%s", at, field), Detail: t.Detail,
			}})
		}
	}
	slices.SortFunc(outcomes, func(a, b ingest.Outcome) int { return a.Turn - b.Turn })
	return outcomes, nil
}

// CloseSession marks a session as ended. The gateway sets the time.
func (g gatewayIngest) CloseSession(ctx context.Context, user, session, last string, _ time.Time) error {
	return console.GatewayProblem(g.gateway.CloseSession(ctx, user, session, last))
}
