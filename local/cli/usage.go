package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/shared/platform/config"
)

func (c *cli) usage() *cobra.Command {
	var gateway, day string
	cmd := &cobra.Command{
		Use:   "usage [--day 2026-11-25]",
		Short: "Show what the tenant did on a day, as the gateway counted it",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
				return usageError{fmt.Errorf("--day is %q, want a day such as 2026-11-25", day)}
			}
			conn, err := c.target.gateway(gateway, c.dir)
			if err != nil {
				return err
			}
			api := &gatewayAPI{base: conn.Gateway, key: config.Secret(conn.APIKey), client: http.DefaultClient}
			return c.printUsage(cmd.Context(), api, day)
		},
	}
	cmd.Flags().StringVar(&gateway, "gateway", "", "base URL of the gateway (or "+envGateway+"); the local one where it is left out")
	cmd.Flags().StringVar(&day, "day", "", "the day, in UTC; today where it is left out")
	return cmd
}

// usageOfDay is what the API answers.
type usageOfDay struct {
	Day    string           `json:"day"`
	Counts map[string]int64 `json:"counts"`
}

func (c *cli) printUsage(ctx context.Context, api *gatewayAPI, day string) error {
	path := "usage"
	if day != "" {
		path += "?day=" + url.QueryEscape(day)
	}
	req, err := api.request(ctx, http.MethodGet, path, http.NoBody)
	if err != nil {
		return err
	}
	data, err := api.do(req)
	if err != nil {
		return fmt.Errorf("usage: %w", err)
	}
	var u usageOfDay
	if err := json.Unmarshal(data, &u); err != nil || u.Day == "" {
		return errors.New("usage: the gateway's answer is none of a Mneme's")
	}
	if c.json {
		return writeJSON(c.out, u)
	}
	t := c.table("on "+u.Day+" (UTC)", "number")
	for _, what := range slices.Sorted(maps.Keys(u.Counts)) {
		t.AppendRow(table.Row{printable(what), u.Counts[what]})
	}
	t.Render()
	return nil
}
