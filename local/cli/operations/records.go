// Package operations holds operators' commands for dead letters, migrations, recorded calls of models and learned
// weights.
package operations

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/store/records"
)

// commands are the commands of this group.
type commands struct{ *console.Console }

// Commands returns the commands of this group.
func Commands(shared *console.Console) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.replay(), c.migrate(), c.records(), c.reranker()}
}

// records is the command that reads recorded calls of models.
func (c commands) records() *cobra.Command {
	var a command.Records
	cmd := &cobra.Command{
		Use:   "records --tenant ID",
		Short: "Print the recorded calls of models (for operators)",
		Long: "records prints the recorded calls of models (MNEME_LLM_RECORD) as JSON, one call on each line: role,\n" +
			"prompt version, messages, whether the answer was valid, the operations, and later events of the\n" +
			"touched memories: recalled, cited, reported, superseded. The records have texts of users. They have\n" +
			"no records of erased users.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runRecords(cmd.Context(), a) },
	}
	f := cmd.Flags()
	f.StringVar(&a.Tenant, "tenant", "", "the tenant")
	f.StringVar(&a.User, "user", "", "only this user (default: all)")
	f.StringVar(&a.Role, "role", "", "only this role, such as manager (default: all)")
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
