package tenants

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/client"
	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
)

func (c commands) usage() *cobra.Command {
	var gateway, day string
	cmd := &cobra.Command{
		Use:   "usage [--day 2026-11-25]",
		Short: "Show what the tenant did on a day, as the gateway counted it",
		Args:  command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
				return command.Usage(fmt.Errorf("--day is %q, want a day such as 2026-11-25", day))
			}
			conn, err := c.Target.Gateway(gateway, c.Dir)
			if err != nil {
				return err
			}
			gateway, err := client.New(conn.Gateway, conn.APIKey, console.HTTPClient(conn.Tenant))
			if err != nil {
				return command.Usage(err)
			}
			return c.printUsage(cmd.Context(), gateway, day)
		},
	}
	cmd.Flags().StringVar(&gateway, "gateway", "", "base URL of the gateway (or "+console.EnvGateway+"); the local one where it is left out")
	cmd.Flags().StringVar(&day, "day", "", "the day, in UTC; today where it is left out")
	return cmd
}

func (c commands) printUsage(ctx context.Context, gateway *client.Client, day string) error {
	day, counts, err := gateway.Usage(ctx, day)
	if err != nil {
		return fmt.Errorf("usage: %w", console.GatewayProblem(err))
	}
	if c.JSON {
		return command.WriteJSON(c.Out, map[string]any{"day": day, "counts": counts})
	}
	t := c.Table("on "+day+" (UTC)", "number")
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.AppendRow(table.Row{command.Printable(what), counts[what]})
	}
	t.Render()
	return nil
}
