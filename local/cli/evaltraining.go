package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/evaluation/training"
)

func (c *cli) evalTraining() *cobra.Command {
	o, quick := training.ExperimentDefaults(), false
	cmd := &cobra.Command{
		Use:   "training",
		Short: "Hold what papers claim of training against trainings of the embedded policy",
		Long: "training trains policies of decisions on made-up lives in several ways, each with the same seeds, and prints what they do\n" +
			"with other people: means with 95 % intervals over seeds, and the differences to the first way. There is DeltaMem's reward of\n" +
			"the state's transition so far: as it is, without keyword coverage, and with other thresholds.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if quick {
				o.Seeds, o.Policy.Persons, o.Policy.Sessions = 3, 4, 6
			}
			return c.runEvalTraining(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&quick, "quick", false, "three seeds of small trainings: rough, within ten minutes on two cores")
	f.IntVar(&o.Seeds, "seeds", o.Seeds, "paired seeds")
	f.IntVar(&o.Held, "held", o.Held, "other people to measure on, of each kind of words")
	f.IntVar(&o.Policy.Persons, "persons", o.Policy.Persons, "made-up people to learn from")
	f.IntVar(&o.Policy.Sessions, "sessions", o.Policy.Sessions, "sessions of each")
	f.IntVar(&o.Policy.Group, "group", o.Policy.Group, "times that each session is drawn")
	f.BoolVar(&o.Policy.Weak, "weak", o.Policy.Weak, "start from a policy that keeps and replaces too little, and not from the shipped models")
	return cmd
}

func (c *cli) runEvalTraining(ctx context.Context, o training.ExperimentOptions) error {
	if err := o.Validate(); err != nil {
		return usageError{err}
	}
	o.Progress = c.err
	arms, err := training.DeltaMem(ctx, o)
	if err != nil {
		return err
	}
	if c.json {
		return writeJSON(c.out, map[string]any{"experiments": map[string]any{"deltamem": arms}})
	}
	t := c.table("arm", "words", "updates hit %", "beside the first", "wrong %", "beside the first", "evidence kept %", "same reward %")
	for _, a := range arms {
		for _, words := range []string{"train", "heldout"} {
			t.AppendRow([]any{
				a.Name, words, percent(a.Measures["update_hits/"+words]), percent(a.Beside["update_hits/"+words]),
				percent(a.Measures["wrong_updates/"+words]), percent(a.Beside["wrong_updates/"+words]),
				percent(a.Measures["kept_evidence/"+words]), percent(a.Measures["same_reward"]),
			})
		}
	}
	t.Render()
	return nil
}

// percent is an estimate as people read it.
func percent(e training.Estimate) string { return fmt.Sprintf("%.1f ± %.1f", 100*e.Mean, 100*e.Half) }
