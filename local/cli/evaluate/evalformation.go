package evaluate

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/evaluation/formation"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

// eval is the parent of the measuring commands.
func (c commands) eval() *cobra.Command {
	return command.Group("eval", "Measure formation and recall on files of conversations", "",
		c.evalFormation(), c.evalRecall())
}

func (c commands) evalFormation() *cobra.Command {
	file, a := "", command.Formation{}
	cmd := &cobra.Command{
		Use:   "formation --data FILE",
		Short: "Measure the memories that strategies form from conversations",
		Long: "formation forms the memories of a file of conversations in this process, with each strategy. It prints the\n" +
			"share of turns that the filter drops, the share of evidence turns that it keeps, the share of short answers\n" +
			"in the memories of their evidence, duplicates, memories per user, and model calls and tokens per session.\n" +
			"FILE is a LoCoMo file, or a file for ingest, which has no questions.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runEvalFormation(cmd.Context(), file, a) },
	}
	cmd.Flags().StringVar(&file, "data", "", "file of conversations")
	a.Flags(cmd.Flags())
	command.Require(cmd, "data")
	return cmd
}

func (c commands) runEvalFormation(ctx context.Context, file string, a command.Formation) error {
	variants, free, err := a.Open(ctx, c.Err)
	if err != nil {
		return err
	}
	defer free()
	report, err := formation.Evaluate(ctx, formation.Options{Path: file, Variants: variants, Embedder: builtin.New(), Progress: c.Err})
	if err != nil {
		return err
	}
	if c.JSON {
		return command.WriteJSON(c.Out, report)
	}
	return report.Render(c.Out)
}
