package cli

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/evaluation/training"
)

// train is the parent of the commands that make models.
func (c *cli) train() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Train the models of the embedded policies",
		Long:  "train makes the models of the embedded policies from synthetic dialogues. It needs nothing that runs.",
		Args:  args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.trainFilter(), c.trainReranker(), c.trainRelation())
	return cmd
}

func (c *cli) trainFilter() *cobra.Command {
	o, file := training.FilterDefaults(), ""
	cmd := &cobra.Command{
		Use:   "filter",
		Short: "Train the saliency filter",
		Long: "filter trains the saliency filter on synthetic dialogues and prints what it measures on held-out ones. The same options\n" +
			"give the same file; without options, it is the one that the binary carries.",
		Args: args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return c.runTrainFilter(o, file) },
	}
	f := cmd.Flags()
	f.Uint64Var(&o.Seed, "seed", o.Seed, "chooses the people and the variations")
	f.IntVar(&o.Persons, "persons", o.Persons, "people to learn from; a quarter as many again are held out")
	f.Float64Var(&o.Recall, "recall", o.Recall, "share of the held-out salient turns that the threshold keeps")
	f.Float64Var(&o.RecallWeight, "recall-weight", o.RecallWeight, "share of the loss that salient turns have")
	f.Float64Var(&o.Ridge, "ridge", o.Ridge, "weight of the squared weights")
	f.StringVar(&file, "out", "", "file to write the model to; without one, only the measures are printed")
	return cmd
}

func (c *cli) runTrainFilter(o training.FilterOptions, file string) error {
	model, r, err := training.Filter(o)
	if err != nil {
		return usageError{err}
	}
	if file != "" {
		data, err := training.EncodeFilter(model)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return fmt.Errorf("write model: %w", err)
		}
	}
	if c.json {
		return json.NewEncoder(c.out).Encode(struct {
			training.FilterRecord
			Threshold float64 `json:"threshold"`
		}{r, model.Threshold})
	}
	fmt.Fprintf(c.out, "learned from %d turns, %d salient; loss %.4f\n", r.Turns, r.Salient, r.Loss)
	fmt.Fprintf(c.out, "held out: %d turns, %d salient; AUC %.4f; "+
		"at threshold %.4f it keeps %.2f %% of the salient and drops %.2f %% of the others\n",
		r.Heldout, r.HeldoutSalient, r.AUC, model.Threshold, 100*r.Kept, 100*r.Dropped)
	return nil
}
