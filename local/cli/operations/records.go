package operations

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/store/records"
)

// records is the command that reads recorded calls of models.
func (c commands) records() *cobra.Command {
	var a command.Records
	cmd := &cobra.Command{
		Use:   "records --tenant ID",
		Short: "Print what models were asked and answered, and what became of it (for operators)",
		Long: "records prints the calls of models that were recorded (MNEME_LLM_RECORD) as JSON, one to a line: role, prompt version,\n" +
			"messages, whether the answer could be used, operations, and how the memories have fared that it touched: recalled, cited,\n" +
			"reported, superseded. It holds what users said. Users who were erased are not in it.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runRecords(cmd.Context(), a) },
	}
	f := cmd.Flags()
	f.StringVar(&a.Tenant, "tenant", "", "the tenant")
	f.StringVar(&a.User, "user", "", "one user (all)")
	f.StringVar(&a.Role, "role", "", "one role, such as manager (all)")
	command.RedisFlag(f, &a.Redis)
	command.Require(cmd, "tenant")
	return cmd
}

func (c commands) runRecords(ctx context.Context, a command.Records) error {
	return a.Open(ctx, c.Dir, c.Err, func(store *records.Store) error {
		n, out := 0, json.NewEncoder(c.Out)
		for call, err := range store.Calls(ctx, a.Tenant, a.User, a.Role) {
			if err != nil {
				return err
			}
			if err := out.Encode(call); err != nil {
				return err
			}
			n++
		}
		fmt.Fprintf(c.Err, "%d records\n", n)
		return nil
	})
}
