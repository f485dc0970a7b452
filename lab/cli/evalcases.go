package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/evaluation/score"
	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/people"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

func (c *cli) evalCases() *cobra.Command {
	a, wrong := command.Formation{}, false
	cmd := &cobra.Command{
		Use:   "cases",
		Short: "Measure what is kept and what is closed in hand-written cases",
		Long: "cases forms, in this process, the memories of cases of two sessions that were written by hand:\n" +
			"compound facts of which one changes, quotes, dreams, hypotheticals, others' news, jokes,\n" +
			"corrections. It prints, for each strategy, how many of the statements that still hold an active\n" +
			"memory tells, and how many of those that no longer hold were remembered and are told by none.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runEvalCases(cmd.Context(), a, wrong) },
	}
	f := cmd.Flags()
	a.Flags(f)
	f.BoolVar(&wrong, "errors", wrong, "print each statement that is not as it should be")
	return cmd
}

func (c *cli) runEvalCases(ctx context.Context, a command.Formation, wrong bool) error {
	cases, err := corpus.Cases()
	if err != nil {
		return err
	}
	variants, free, err := a.Open(ctx, c.err)
	if err != nil {
		return err
	}
	defer free()
	reports := map[string]people.CaseReport{}
	for _, v := range variants {
		r, err := people.MeasureCases(ctx, v, builtin.New(), cases)
		if err != nil {
			return err
		}
		reports[v.Strategy] = r
		if c.json {
			continue
		}
		fmt.Fprintf(c.out, "%s: kept %d of %d (%s), closed %d of %d (%s)\n", v.Strategy, r.Kept, r.Keep,
			score.Percent(score.Share(r.Kept, r.Keep)), r.Closed, r.Close, score.Percent(score.Share(r.Closed, r.Close)))
		for _, line := range r.Wrong {
			if wrong {
				fmt.Fprintln(c.out, "  "+line)
			}
		}
	}
	if c.json {
		return command.WriteJSON(c.out, reports)
	}
	return nil
}
