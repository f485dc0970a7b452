package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/evaluation/export"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/records"
)

func (c *cli) trainExport() *cobra.Command {
	var a recordsArgs
	format, out := "", ""
	cmd := &cobra.Command{
		Use:   "export --for trl|verl --tenant ID --out DIR",
		Short: "Write recorded calls of models as data sets for trainers of large models (for operators)",
		Long: "export writes what was recorded of a tenant's calls (MNEME_LLM_RECORD) into a new folder: for trl conversations, prompts\n" +
			"with what became of their answers, and repaired answers beside the first ones as JSON lines; for verl a Parquet file. A\n" +
			"manifest has versions and counts. It holds what users said. Users who were erased are not in it.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runTrainExport(cmd.Context(), a, format, out) },
	}
	f := cmd.Flags()
	f.StringVar(&format, "for", "", "trl or verl")
	f.StringVar(&a.tenant, "tenant", "", "the tenant")
	f.StringVar(&a.role, "role", "", "one role, such as manager (all)")
	f.StringVar(&out, "out", "", "folder to make")
	redisFlag(f, &a.redis)
	require(cmd, "for")
	require(cmd, "tenant")
	require(cmd, "out")
	return cmd
}

func (c *cli) runTrainExport(ctx context.Context, a recordsArgs, format, out string) error {
	return c.withRecords(ctx, a, func(store *records.Store) error {
		m, err := export.Write(out, export.Format(format), calls(ctx, store, a), time.Now())
		if fault.IsTerminal(err) {
			if fault.Field(err) == "format" {
				return usageError{fmt.Errorf("--for: %w", errors.Unwrap(err))}
			}
			return usageError{err}
		}
		if err != nil {
			return err
		}
		if c.json {
			return writeJSON(c.out, m)
		}
		fmt.Fprintf(c.out, "%d records of %d users in %s\n", m.Records, m.Users, out)
		return nil
	})
}

// calls are the recorded ones that are asked for, user by user.
func calls(ctx context.Context, store *records.Store, a recordsArgs) iter.Seq2[export.Call, error] {
	return func(yield func(export.Call, error) bool) {
		users, err := store.Users(ctx, a.tenant)
		if err != nil {
			yield(export.Call{}, err)
			return
		}
		for _, user := range users {
			if a.user != "" && user != a.user {
				continue
			}
			list, fared, err := store.Records(ctx, memory.Scope{Tenant: a.tenant, User: user})
			if err != nil {
				yield(export.Call{}, err)
				return
			}
			for _, r := range list {
				if a.role != "" && string(r.Role) != a.role {
					continue
				}
				call := export.Call{Record: r, Outcomes: map[string]records.Outcome{}}
				for _, id := range r.Memories {
					call.Outcomes[id] = fared[id]
				}
				if !yield(call, nil) {
					return
				}
			}
		}
	}
}
