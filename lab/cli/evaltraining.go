package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/lab/reinforcement"
	"github.com/mneme-memory/mneme/local/command"
)

func (c *cli) evalTraining() *cobra.Command {
	o := reinforcement.CeilingDefaults()
	cmd := &cobra.Command{
		Use:   "training",
		Short: "Measure the largest gain that a training of the embedded policy can have",
		Long: "training measures made-up people with the shipped models, and with the truth in place of some\n" +
			"decisions. It prints means with 95 % intervals over seeds, in training words and in others. --json\n" +
			"has all measures, and the differences between the rows.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runEvalTraining(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.IntVar(&o.Seeds, "seeds", o.Seeds, "paired seeds")
	f.IntVar(&o.Held, "held", o.Held, "people of each kind of words")
	f.IntVar(&o.Sessions, "sessions", o.Sessions, "sessions of each")
	return cmd
}

func (c *cli) runEvalTraining(ctx context.Context, o reinforcement.CeilingOptions) error {
	if err := o.Validate(); err != nil {
		return command.Usage(err)
	}
	bar := command.NewBar(c.err, -1, "tries")
	o.Progress = func(total int) {
		bar.ChangeMax(total)
		_ = bar.Add(1) // a failed bar is no reason to stop
	}
	arms, err := reinforcement.Ceilings(ctx, o)
	if err != nil {
		return err
	}
	if c.json {
		return command.WriteJSON(c.out, map[string]any{"ceilings": arms})
	}
	c.printArms(arms, []string{"update_hits", "wrong_updates", "answered", "kappa", "lost_memory", "lost_profile",
		"lost_answer"})
	return nil
}

// printArms prints measures of arms, in percent. Measures of people have training words first, then other words.
func (c *cli) printArms(arms []reinforcement.Arm, measures []string) {
	header := []any{"arm"}
	for _, m := range measures {
		header = append(header, strings.ReplaceAll(m, "_", " ")+" %")
	}
	t := command.NewTable(c.out, header...)
	for _, a := range arms {
		row := []any{a.Name}
		for _, m := range measures {
			var cells []string
			for _, name := range []string{m + "/train", m + "/heldout"} {
				if e, ok := a.Measures[name]; ok {
					cells = append(cells, percent(e))
				}
			}
			row = append(row, strings.Join(cells, "; "))
		}
		t.AppendRow(row)
	}
	t.Render()
}

// percent formats an estimate for people.
func percent(e reinforcement.Estimate) string {
	if e.Seeds < 2 {
		return fmt.Sprintf("%.1f", 100*e.Mean)
	}
	return fmt.Sprintf("%.1f ± %.1f", 100*e.Mean, 100*e.Half)
}
