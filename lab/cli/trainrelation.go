package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/local/command"
)

func (c *cli) trainRelation() *cobra.Command {
	o, file := training.RelationDefaults(), ""
	cmd := &cobra.Command{
		Use:   "relation",
		Short: "Train the model of relations",
		Long: "relation trains the model that tells what a new statement does to a stored one, on statements labelled by hand. The same\n" +
			"options give the same file; without options, it is the one that the binary carries.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runTrainRelation(cmd.Context(), o, file) },
	}
	f := cmd.Flags()
	f.Uint64Var(&o.Seed, "seed", o.Seed, "chooses groups of words, and strangers")
	f.Float64Var(&o.Cost, "cost", o.Cost, "weight of the loss against the squared weights")
	f.IntVar(&o.Rounds, "rounds", o.Rounds, "steps of the optimiser at most")
	f.IntVar(&o.Most, "most", o.Most, "pairs, banks, dialogues and made-up people to learn from at most, for a trial; 0 is no bound")
	outFlag(cmd, &file)
	return cmd
}

func (c *cli) runTrainRelation(ctx context.Context, o training.RelationOptions, file string) error {
	if err := o.Validate(); err != nil { // reading the statements takes long
		return command.Usage(err)
	}
	train, err := training.Statements(ctx, corpus.Train, o)
	if err != nil {
		return err
	}
	choose, err := training.Statements(ctx, corpus.Choose, o)
	if err != nil {
		return err
	}
	model, r, err := training.Relation(train, choose, o)
	if err != nil {
		return command.Usage(err)
	}
	if err := writeModel(file, model.Encode); err != nil {
		return err
	}
	if c.json {
		return json.NewEncoder(c.out).Encode(r)
	}
	t := model.Thresholds()
	_, err = fmt.Fprintf(c.out,
		"learned from %d statements, %d of them changes; %d features; a change is certain from %.4f on, possible from %.4f on\n",
		r.Statements, r.Changes, r.Features, t.Certain, t.Possible)
	return err
}
