package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/local/command"
)

func (c *cli) trainStanding() *cobra.Command {
	o, file := training.StandingDefaults(), ""
	cmd := &cobra.Command{
		Use:   "standing",
		Short: "Train the model of what requests have to respect",
		Long: "standing trains the model that tells preferences, habits and limits from talk, on dialogues labelled by hand. The same options\n" +
			"give the same file; without options, it is the one that the binary carries. The reranker's prior is trained with it.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return c.runTrainStanding(o, file) },
	}
	f := cmd.Flags()
	f.Float64Var(&o.Cost, "cost", o.Cost, "weight of the loss against the squared weights")
	f.IntVar(&o.Holders, "holders", o.Holders, "how many turns have to have a word for something to be learned of it")
	outFlag(cmd, &file)
	return cmd
}

func (c *cli) runTrainStanding(o training.StandingOptions, file string) error {
	model, r, err := training.Standing(o)
	if err != nil {
		return command.Usage(err)
	}
	encode := func() ([]byte, error) {
		data, err := json.MarshalIndent(model, "", "\t")
		return append(data, '\n'), err
	}
	if err := writeModel(file, encode); err != nil {
		return err
	}
	if c.json {
		return json.NewEncoder(c.out).Encode(r)
	}
	_, err = fmt.Fprintf(c.out, "learned from %d turns, %d of them needed later; %d terms; AUC %.3f on %d turns of other writers\n",
		r.Turns, r.Needed, len(model.Weights), r.AUC, r.Heldout)
	return err
}
