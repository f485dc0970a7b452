package cli

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/evaluation/training"
	"github.com/mneme-memory/mneme/shared/model/embedding/builtin"
)

func (c *cli) trainChanges() *cobra.Command {
	o, file := training.ChangesDefaults(), ""
	cmd := &cobra.Command{
		Use:   "changes",
		Short: "Train the model of changes",
		Long: "changes trains the model by which the embedded policies tell what changes a known memory, on synthetic dialogues. The same\n" +
			"options give the same file; without options, it is the one that the binary carries, which takes some minutes.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runTrainChanges(cmd, o, file) },
	}
	f := cmd.Flags()
	f.Uint64Var(&o.Seed, "seed", o.Seed, "chooses the people")
	f.IntVar(&o.Persons, "persons", o.Persons, "people to learn from")
	f.IntVar(&o.Rounds, "rounds", o.Rounds, "how often they are gone through; after the first time with the model's own mistakes")
	f.Float64Var(&o.Threshold, "threshold", o.Threshold, "probability from which a pair counts as a change")
	f.IntVar(&o.Trees.Trees, "trees", o.Trees.Trees, "how many trees the model has")
	f.StringVar(&file, "out", "", "file to write the model to; without one, only the measures are printed")
	return cmd
}

func (c *cli) runTrainChanges(cmd *cobra.Command, o training.ChangesOptions, file string) error {
	model, err := training.Changes(cmd.Context(), builtin.New(), o)
	if err != nil {
		return usageError{err}
	}
	if file != "" {
		data, err := model.Encode()
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return fmt.Errorf("write model: %w", err)
		}
	}
	if c.json {
		return json.NewEncoder(c.out).Encode(model.Trained)
	}
	t := model.Trained
	_, err = fmt.Fprintf(c.out, "learned from %d pairs of %d people, %d of them changes; loss %.4f\n", t.Examples, t.Persons, t.Changes,
		t.Loss)
	return err
}
