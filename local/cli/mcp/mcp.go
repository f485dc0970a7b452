package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/client"
	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/mcp"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/runner"
)

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
			conn, err := c.Target.ResolveGateway(c.Dir)
			if err != nil {
				return err
			}
			return c.runMCP(cmd.Context(), conn, user, cmd.InOrStdin())
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "the user of calls that name no user")
	return cmd
}

// runMCP serves one client, until its input or ctx ends.
func (c commands) runMCP(ctx context.Context, conn standalone.Connection, user string, in io.Reader) error {
	s, err := c.Open(ctx, conn)
	if err != nil {
		return err
	}
	defer s.Close(ctx)
	gateway, err := client.New(conn.Gateway, conn.APIKey, console.HTTPClient(conn.Tenant))
	if err != nil {
		return command.Usage(err)
	}
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
