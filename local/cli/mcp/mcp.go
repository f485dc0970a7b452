// Package mcp serves memory to an MCP client over standard input and output.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/client"
	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/ingest"
	"github.com/mneme-memory/mneme/services/gateway/mcp"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/runner"
)

// commands are the commands of this group.
type commands struct{ *console.Console }

// Commands returns the commands of this group.
func Commands(shared *console.Console) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.mcp()}
}

func (c commands) mcp() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:   "mcp [--user USER]",
		Short: "Serve memory to an MCP client over standard input and output",
		Long: "mcp serves clients of the Model Context Protocol that start their servers as processes. It offers memory\n" +
			"as tools, resources and a prompt, like the gateway at /mcp, and calls the gateway with the API key.\n" +
			"--user is the user of calls that name no user.\n" +
			"\n" +
			`  {"mcpServers": {"mneme": {"command": "mneme", "args": ["mcp", "--user", "ines"],` + "\n" +
			`    "env": {"` + console.EnvURL + `": "http://127.0.0.1:8400", "` + console.EnvKey + `": "mneme_..."}}}}`,
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if user != "" {
				if err := memory.ValidUser(user); err != nil {
					return command.Usage(fmt.Errorf("--user: %w", err))
				}
			}
			return c.runMCP(cmd.Context(), user, cmd.InOrStdin())
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "the user of calls that name no user")
	return cmd
}

// runMCP serves one client, until its input or ctx ends.
func (c commands) runMCP(ctx context.Context, user string, in io.Reader) error {
	conn, gateway, err := c.Gateway()
	if err != nil {
		return err
	}
	s, err := c.Open(ctx, conn)
	if err != nil {
		return err
	}
	defer s.Close(ctx)
	server := mcp.NewServer(mcp.Parts{
		Services: backend.Services{
			Recall: s.UtilizerServiceClient, Memories: s.MemoryServiceClient, UserData: s.UserDataServiceClient,
			Diagnosis: s.DiagnosisServiceClient, Reranker: s.RerankerServiceClient,
		},
		Ingest: gatewayIngest{gateway},
		Now:    time.Now, Log: s.Telemetry.Log, Version: runner.Version(), User: user,
	})
	err = server.Run(ctx, mcp.Stdio{In: in, Out: c.Out})
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("serve MCP: %w", err)
	}
	return nil
}

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
