package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/model/llm"
	"github.com/mneme-memory/mneme/shared/platform/runner"
	"github.com/mneme-memory/mneme/shared/platform/telemetry"
	"github.com/mneme-memory/mneme/shared/store/records"
)

// recordsArgs are the flags of records.
type recordsArgs struct {
	redis              []string
	tenant, user, role string
}

// records is the command that reads what is recorded of models' calls.
func (c *cli) records() *cobra.Command {
	var a recordsArgs
	cmd := &cobra.Command{
		Use:   "records --tenant ID",
		Short: "Print what models were asked and answered, and what became of it (for operators)",
		Long: "records prints the calls of models that were recorded (MNEME_LLM_RECORD) as JSON, one to a line: role, prompt version,\n" +
			"messages, whether the answer could be used, operations, and how the memories have fared that it touched: recalled, cited,\n" +
			"reported, superseded. It holds what users said. Users who were erased are not in it.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runRecords(cmd.Context(), a) },
	}
	f := cmd.Flags()
	f.StringVar(&a.tenant, "tenant", "", "the tenant")
	f.StringVar(&a.user, "user", "", "one user (all)")
	f.StringVar(&a.role, "role", "", "one role, such as manager (all)")
	redisFlag(f, &a.redis)
	require(cmd, "tenant")
	return cmd
}

// recordLine is a line of the output.
type recordLine struct {
	llm.Record
	Outcomes map[string]records.Outcome `json:"outcomes,omitempty"`
}

func (c *cli) runRecords(ctx context.Context, a recordsArgs) error {
	return c.withRecords(ctx, a, func(store *records.Store) error {
		n, out := 0, json.NewEncoder(c.out)
		for call, err := range calls(ctx, store, a) {
			if err != nil {
				return err
			}
			if err := out.Encode(recordLine(call)); err != nil {
				return err
			}
			n++
		}
		fmt.Fprintf(c.err, "%d records\n", n)
		return nil
	})
}

// withRecords opens the records for a command.
func (c *cli) withRecords(ctx context.Context, a recordsArgs, run func(*records.Store) error) (err error) {
	if err := memory.ValidTenant(a.tenant); err != nil {
		return usageError{err}
	}
	cfg, _, err := c.redisSettings(a.redis)
	if err != nil {
		return err
	}
	if err := reach(ctx, cfg.Addrs); err != nil {
		return runner.Need("redis", err)
	}
	tel, err := telemetry.New(ctx, "mneme-cli", "", telemetry.Config{LogLevel: "error", LogFormat: "text"}, c.err)
	if err != nil {
		return err
	}
	defer func() { _ = tel.Shutdown(context.WithoutCancel(ctx)) }() // nothing is exported
	store, free, err := cfg.OpenRecords(records.Options{}, tel)
	if err != nil {
		return err
	}
	return errors.Join(run(store), free())
}
