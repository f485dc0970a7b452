package tenants

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
)

// maxUsageDays limits the days of one report. The services keep counts for 400 days.
const maxUsageDays = 400

// usageOfDay are the counts of a tenant on a day.
type usageOfDay struct {
	Tenant string           `json:"tenant,omitempty"`
	Day    string           `json:"day"`
	Counts map[string]int64 `json:"counts"`
}

func (c commands) usage() *cobra.Command {
	var from, to string
	var all bool
	var redis []string
	cmd := &cobra.Command{
		Use:   "usage [--from DAY] [--to DAY] [--all-tenants]",
		Short: "Show the counts of requests, turns, recalls, answers and tokens by day",
		Long: "usage prints the counts of the API key's tenant by day, as the gateway reports them. The key needs\n" +
			"the scope admin. The counts are those of the gateway. Turns from Kafka and commands of mneme on a\n" +
			"local Mneme count only as tokens. With --all-tenants it prints the counts of every tenant. This is\n" +
			"for operators: it reads Redis, not the gateway.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			days, err := usageDays(from, to, time.Now())
			if err != nil {
				return err
			}
			if all {
				return c.withDirectory(cmd.Context(), redis, func(ctx context.Context, o *operator) error {
					return c.printAllUsage(ctx, o, days)
				})
			}
			if len(redis) > 0 {
				return command.Usage(fmt.Errorf("--redis needs --all-tenants"))
			}
			return c.printOwnUsage(cmd.Context(), days)
		},
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "first day, YYYY-MM-DD in UTC; default: the day of --to")
	f.StringVar(&to, "to", "", "last day, YYYY-MM-DD in UTC; default: today")
	f.BoolVar(&all, "all-tenants", false, "print the counts of every tenant (for operators)")
	command.RedisFlag(f, &redis)
	return cmd
}

// usageDays returns the days of a range in UTC, first to last. Without a last day it is today, and without a first
// day it is the last one.
func usageDays(from, to string, now time.Time) ([]string, error) {
	last := now.UTC().Truncate(24 * time.Hour)
	var err error
	if to != "" {
		if last, err = time.Parse(time.DateOnly, to); err != nil {
			return nil, command.Usage(fmt.Errorf("--to is %q, want a day such as 2026-11-25", to))
		}
	}
	first := last
	if from != "" {
		if first, err = time.Parse(time.DateOnly, from); err != nil {
			return nil, command.Usage(fmt.Errorf("--from is %q, want a day such as 2026-11-25", from))
		}
	}
	n := int(last.Sub(first)/(24*time.Hour)) + 1
	if n < 1 || n > maxUsageDays {
		return nil, command.Usage(fmt.Errorf("--from is %s and --to is %s, want 1 to %d days", first.Format(time.DateOnly),
			last.Format(time.DateOnly), maxUsageDays))
	}
	days := make([]string, n)
	for i := range days {
		days[i] = first.AddDate(0, 0, i).Format(time.DateOnly)
	}
	return days, nil
}

// printOwnUsage prints the counts of the API key's tenant, from the gateway.
func (c commands) printOwnUsage(ctx context.Context, days []string) error {
	_, gateway, err := c.Gateway()
	if err != nil {
		return err
	}
	var report []usageOfDay
	for _, day := range days {
		day, counts, err := gateway.Usage(ctx, day)
		if err != nil {
			return fmt.Errorf("usage: %w", console.GatewayProblem(err))
		}
		report = append(report, usageOfDay{Day: day, Counts: counts})
	}
	return c.printUsage(report, days)
}

// printAllUsage prints the counts of every tenant with usage, from Redis.
func (c commands) printAllUsage(ctx context.Context, o *operator, days []string) error {
	made, err := o.Tenants(ctx)
	if err != nil {
		return err
	}
	if !o.filed {
		fmt.Fprintf(c.Err, "note: the report lacks the tenants of the tenants file: set %s\n", envTenantsFile)
	}
	var ids []string
	for _, t := range o.allTenants(made) {
		ids = append(ids, t.ID)
	}
	slices.Sort(ids)
	report := []usageOfDay{}
	for _, id := range slices.Compact(ids) {
		for _, day := range days {
			counts, err := o.usage.Of(ctx, id, day)
			if err != nil {
				return err
			}
			if len(counts) > 0 {
				report = append(report, usageOfDay{Tenant: id, Day: day, Counts: counts})
			}
		}
	}
	return c.printUsage(report, days)
}

// storedCounts are the counts of stored objects, and not of calls.
var storedCounts = []string{"memories", "items"}

// anyCall reports whether a report counts more than stored objects.
func anyCall(report []usageOfDay) bool {
	for _, r := range report {
		for name, n := range r.Counts {
			if n > 0 && !slices.Contains(storedCounts, name) {
				return true
			}
		}
	}
	return false
}

// usageHeader explains small counts to a user whose turns do not come by the gateway.
const usageHeader = "calls of the gateway; turns from Kafka and commands of mneme on a local Mneme count only as " +
	"model tokens"

// printUsage prints one row for each day of a tenant, and the sums of several rows. It prints one line for days
// without a call.
func (c commands) printUsage(report []usageOfDay, days []string) error {
	total := map[string]int64{}
	for _, r := range report {
		for name, n := range r.Counts {
			total[name] += n
		}
	}
	for _, stored := range storedCounts { // the sum of stored objects over days has no meaning
		if len(report) > 1 {
			delete(total, stored)
		}
	}
	if c.JSON {
		return command.WriteJSON(c.Out, map[string]any{"days": report, "total": total})
	}
	fmt.Fprintln(c.Out, usageHeader)
	if !anyCall(report) {
		fmt.Fprintf(c.Out, "no calls from %s to %s (UTC)\n", days[0], days[len(days)-1])
		return nil
	}
	names := map[string]bool{}
	for _, r := range report {
		for name := range r.Counts {
			names[name] = true
		}
	}
	header := []any{"tenant", "day (UTC)"}
	columns := slices.Sorted(maps.Keys(names))
	for _, name := range columns {
		header = append(header, command.Printable(name))
	}
	t := c.Table("calls", header...)
	row := func(tenant, day string, counts map[string]int64) {
		out := table.Row{command.Printable(tenant), day}
		for _, name := range columns {
			if n, ok := counts[name]; ok {
				out = append(out, n)
			} else {
				out = append(out, "")
			}
		}
		t.AppendRow(out)
	}
	for _, r := range report {
		row(r.Tenant, r.Day, r.Counts)
	}
	if len(report) > 1 {
		row("", "total", total)
	}
	t.Render()
	return nil
}
