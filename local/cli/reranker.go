package cli

import (
	"context"
	"fmt"
	"os"

	"connectrpc.com/connect"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

func (c *cli) reranker() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reranker",
		Short: "Look at what the reranker has learned for the tenant, and take it back",
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) > 0 {
				return command.Usage(fmt.Errorf("there is no command %q: see mneme reranker --help", given[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.rerankerVersions(), c.rerankerRollback())
	return cmd
}

func (c *cli) rerankerVersions() *cobra.Command {
	return &cobra.Command{
		Use:   "versions",
		Short: "List the versions of the tenant's weights, and the features by weight",
		Args:  command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.connectReranker(cmd.Context())
			if err != nil {
				return err
			}
			defer s.close(cmd.Context())
			res, err := s.ListWeights(cmd.Context(), connect.NewRequest(&mnemev1.ListWeightsRequest{}))
			if err != nil {
				return err
			}
			if c.json {
				return command.WriteJSON(c.out, raw(res.Msg))
			}
			c.printWeights(res.Msg)
			return nil
		},
	}
}

func (c *cli) rerankerRollback() *cobra.Command {
	const flag = "to"
	var to uint64
	cmd := &cobra.Command{
		Use:   "rollback --to VERSION",
		Short: "Take the tenant's weights back to an earlier version; 0 is what every tenant starts from",
		Long: "rollback makes a new version with the weights of an earlier one. What has been reported since the last version and is not yet\n" +
			"part of one is forgotten. Learning goes on from there.",
		Args: func(cmd *cobra.Command, given []string) error {
			if !cmd.Flags().Changed(flag) {
				return command.Usage(fmt.Errorf("--%s is missing: %s", flag, cmd.UseLine()))
			}
			return command.Args(cobra.NoArgs)(cmd, given)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.connectReranker(cmd.Context())
			if err != nil {
				return err
			}
			defer s.close(cmd.Context())
			res, err := s.RollbackWeights(cmd.Context(), connect.NewRequest(&mnemev1.RollbackWeightsRequest{Version: to}))
			if err != nil {
				return err
			}
			if c.json {
				return command.WriteJSON(c.out, raw(res.Msg))
			}
			fmt.Fprintf(c.out, "version %d has the weights of version %d, and is in use\n", res.Msg.GetVersion().GetVersion(), to)
			return nil
		},
	}
	cmd.Flags().Uint64Var(&to, flag, 0, "the version")
	return cmd
}

// connectReranker is connect for commands that need the reranker's address.
func (c *cli) connectReranker(ctx context.Context) (*session, error) {
	named := first(c.target.reranker, os.Getenv(envReranker))
	if named != "" && first(c.target.key, os.Getenv(envKey)) == "" {
		return nil, command.Usage(fmt.Errorf("--reranker (or %s) needs --key (or %s)", envReranker, envKey))
	}
	conn, err := c.target.resolve(c.dir)
	if err != nil && named == "" {
		return nil, err
	}
	if conn.Reranker == "" {
		return nil, command.Usage(fmt.Errorf("the address of the reranker is not known: name it with --reranker (or %s)", envReranker))
	}
	return c.open(ctx, conn)
}

// printWeights prints versions and features as tables.
func (c *cli) printWeights(l *mnemev1.ListWeightsResponse) {
	t := c.table("version", "made", "learned from", "distance", "")
	for i, v := range l.GetVersions() {
		made, what := "", ""
		if v.GetTime() != nil {
			made = v.GetTime().AsTime().Local().Format("2006-01-02 15:04:05")
		}
		switch {
		case v.RolledBackTo != nil:
			what = fmt.Sprintf("back to %d", v.GetRolledBackTo())
		case v.GetVersion() == 0:
			what = "what every tenant starts from"
		}
		if i == 0 && what != "" {
			what += ", "
		}
		if i == 0 {
			what += "in use"
		}
		t.AppendRow(table.Row{v.GetVersion(), made, v.GetLearned(), fmt.Sprintf("%.3f", v.GetDistance()), what})
	}
	t.Render()
	fmt.Fprintf(c.out, "features %s:\n", command.Printable(l.GetFeatureSet()))
	f := c.table("feature", "weight", "at the start")
	for _, w := range l.GetFeatures() {
		f.AppendRow(table.Row{command.Printable(w.GetName()), fmt.Sprintf("%.4f", w.GetWeight()), fmt.Sprintf("%.4f", w.GetPrior())})
	}
	f.Render()
}
