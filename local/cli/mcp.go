package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/client"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/mcp"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/platform/runner"
)

// envGateway is the variable with the URL of a remote gateway.
const envGateway = "MNEME_GATEWAY_URL"

func (c *cli) mcp() *cobra.Command {
	var gateway, user string
	cmd := &cobra.Command{
		Use:   "mcp [--user USER]",
		Short: "Serve memory to an MCP client over standard input and output",
		Long: "mcp is for clients of the Model Context Protocol that start their servers: memory as tools, resources and a prompt, as the\n" +
			"gateway serves them at /mcp over HTTP. It asks the gateway with the API key. --user is meant where a call names nobody.\n\n" +
			`  {"mcpServers": {"mneme": {"command": "mneme", "args": ["mcp", "--user", "ines"],` + "\n" +
			`    "env": {"` + envGateway + `": "http://127.0.0.1:8400", "` + envKey + `": "mneme_..."}}}}`,
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if user != "" {
				if err := memory.ValidUser(user); err != nil {
					return command.Usage(fmt.Errorf("--user: %w", err))
				}
			}
			conn, err := c.target.gateway(gateway, c.dir)
			if err != nil {
				return err
			}
			return c.runMCP(cmd.Context(), conn, user, cmd.InOrStdin())
		},
	}
	cmd.Flags().StringVar(&gateway, "gateway", "", "base URL of the gateway (or "+envGateway+"); the local one where it is left out")
	cmd.Flags().StringVar(&user, "user", "", "the end user who is meant where a call names none")
	return cmd
}

// gateway returns the gateway's connection. The local folder's key is used for local addresses only.
func (t target) gateway(flag, dir string) (standalone.Connection, error) {
	c := standalone.Connection{
		Gateway: strings.TrimSuffix(first(flag, os.Getenv(envGateway)), "/"), APIKey: first(t.key, os.Getenv(envKey)),
		Tenant: first(t.tenant, os.Getenv(envTenant)),
	}
	if c.Gateway == "" {
		local, err := standalone.LoadConnection(dir)
		if err != nil {
			return c, fmt.Errorf("no gateway: %w (looked for --gateway with --key, %s with %s, and in the folder %q)", err, envGateway, envKey, dir)
		}
		c.Gateway, c.APIKey, c.Traces = local.Gateway, first(c.APIKey, local.APIKey), local.Traces
		if c.Gateway == "" {
			return c, fmt.Errorf("the Mneme of the folder %q runs without a gateway: start it anew, or name another by --gateway", dir)
		}
	}
	if c.APIKey == "" {
		return c, command.Usage(fmt.Errorf("--gateway (or %s) needs --key (or %s)", envGateway, envKey))
	}
	c.Utilizer, c.Reranker = c.Gateway, c.Gateway // the gateway passes on calls of the services
	return c, nil
}

// runMCP serves one client, until its input or ctx ends.
func (c *cli) runMCP(ctx context.Context, conn standalone.Connection, user string, in io.Reader) error {
	s, err := c.open(ctx, conn)
	if err != nil {
		return err
	}
	defer s.close(ctx)
	gateway, err := client.New(conn.Gateway, conn.APIKey, naming(conn.Tenant))
	if err != nil {
		return command.Usage(err)
	}
	server := mcp.NewServer(mcp.Parts{
		Services: backend.Services{
			Recall: s.UtilizerServiceClient, Memories: s.MemoryServiceClient, UserData: s.UserDataServiceClient,
			Diagnosis: s.DiagnosisServiceClient, Reranker: s.RerankerServiceClient,
		},
		Ingest: gatewayIngest{gateway},
		Now:    time.Now, Log: s.tel.Log, Version: runner.Version(), User: user,
	})
	err = server.Run(ctx, mcp.Stdio{In: in, Out: c.out})
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("serve MCP: %w", err)
	}
	return nil
}
