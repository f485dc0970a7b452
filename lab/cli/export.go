package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/lab/export"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/store/records"
)

func (c *cli) export() *cobra.Command {
	var a command.Records
	format, out := "", ""
	cmd := &cobra.Command{
		Use:   "export --for trl|verl --tenant ID --out DIR",
		Short: "Write recorded calls of models as data sets for trainers of large models (for operators)",
		Long: "export writes what was recorded of a tenant's calls (MNEME_LLM_RECORD) into a new folder: for trl\n" +
			"conversations, prompts with what became of their answers, and repaired answers beside the first ones\n" +
			"as JSON lines; for verl a Parquet file. A manifest has versions and counts. It holds what users\n" +
			"said. Users who were erased are not in it.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runExport(cmd.Context(), a, format, out) },
	}
	f := cmd.Flags()
	f.StringVar(&format, "for", "", "trl or verl")
	f.StringVar(&a.Tenant, "tenant", "", "the tenant")
	f.StringVar(&a.Role, "role", "", "one role, such as manager (all)")
	f.StringVar(&out, "out", "", "folder to make")
	command.RedisFlag(f, &a.Redis)
	command.Require(cmd, "for")
	command.Require(cmd, "tenant")
	command.Require(cmd, "out")
	return cmd
}

func (c *cli) runExport(ctx context.Context, a command.Records, format, out string) error {
	return a.Open(ctx, c.dir, c.err, func(store *records.Store) error {
		m, err := export.Write(out, export.Format(format), store.Calls(ctx, a.Tenant, a.User, a.Role), time.Now())
		if fault.IsTerminal(err) {
			if fault.Field(err) == "format" {
				return command.Usage(fmt.Errorf("--for: %w", errors.Unwrap(err)))
			}
			return command.Usage(err)
		}
		if err != nil {
			return err
		}
		if c.json {
			return command.WriteJSON(c.out, m)
		}
		fmt.Fprintf(c.out, "%d records of %d users in %s\n", m.Records, m.Users, out)
		return nil
	})
}
