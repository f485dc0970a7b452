package operations

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

func (c commands) reranker() *cobra.Command {
	return command.Group("reranker", "Show and roll back the ranking weights that a tenant has learned", "",
		c.rerankerVersions(), c.rerankerRollback())
}

func (c commands) rerankerVersions() *cobra.Command {
	return &cobra.Command{
		Use:   "versions",
		Short: "List the versions of the weights, and the features by weight",
		Args:  command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return console.Show(cmd.Context(), c.Console, (*console.Session).ListWeights, &mnemev1.ListWeightsRequest{},
				c.printWeights)
		},
	}
}

func (c commands) rerankerRollback() *cobra.Command {
	const flag = "to"
	var to uint64
	cmd := &cobra.Command{
		Use:   "rollback --to VERSION",
		Short: "Restore an earlier version of the weights; 0 is the start of every tenant",
		Long: "rollback creates a new version with the weights of an earlier one. It drops reports that came after\n" +
			"the last version and are not part of one. Learning continues from the new version.",
		Args: func(cmd *cobra.Command, given []string) error {
			if !cmd.Flags().Changed(flag) {
				return command.Usage(fmt.Errorf("--%s is missing: %s", flag, cmd.UseLine()))
			}
			return command.Args(cobra.NoArgs)(cmd, given)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return console.Show(cmd.Context(), c.Console, (*console.Session).RollbackWeights,
				&mnemev1.RollbackWeightsRequest{Version: to},
				func(_ *console.Session, res *mnemev1.RollbackWeightsResponse) error {
					made := res.GetVersion().GetVersion()
					_, err := fmt.Fprintf(c.Out, "version %d has the weights of version %d, and is in use\n", made, to)
					return err
				})
		},
	}
	cmd.Flags().Uint64Var(&to, flag, 0, "the version to restore")
	return cmd
}

// printWeights prints versions and features as tables.
func (c commands) printWeights(_ *console.Session, l *mnemev1.ListWeightsResponse) error {
	t := c.Table("versions", "version", "created", "learned from", "distance", "state")
	for i, v := range l.GetVersions() {
		made, what := "", ""
		if v.GetTime() != nil {
			made = v.GetTime().AsTime().Local().Format("2006-01-02 15:04:05")
		}
		switch {
		case v.RolledBackTo != nil:
			what = fmt.Sprintf("rolled back to %d", v.GetRolledBackTo())
		case v.GetVersion() == 0:
			what = "start of every tenant"
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
	fmt.Fprintf(c.Out, "features %s:\n", command.Printable(l.GetFeatureSet()))
	f := c.Table("features", "feature", "weight", "start weight")
	for _, w := range l.GetFeatures() {
		f.AppendRow(table.Row{command.Printable(w.GetName()), fmt.Sprintf("%.4f", w.GetWeight()),
			fmt.Sprintf("%.4f", w.GetPrior())})
	}
	f.Render()
	return nil
}
