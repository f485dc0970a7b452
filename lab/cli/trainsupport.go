package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/ranking"
)

func (c *cli) trainSupport() *cobra.Command {
	o, file := training.SupportDefaults(), ""
	cmd := &cobra.Command{
		Use:   "support",
		Short: "Train the model of when the embedded answer abstains",
		Long: "support trains the model of whether what is found answers a question or the question has the wrong person, on made-up\n" +
			"conversations, and prints the abstentions on held-out ones. The same options give the same file; without options, it is the one\n" +
			"that the binary carries, which takes some minutes. It rests on the reranker's shared prior: train it after that.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runTrainSupport(cmd, o, file) },
	}
	f := cmd.Flags()
	f.Uint64Var(&o.Seed, "seed", o.Seed, "chooses the conversations")
	f.IntVar(&o.Conversations, "conversations", o.Conversations, "conversations to learn from; a quarter as many again are held out")
	f.Float64Var(&o.Cost, "cost", o.Cost, "what an answer about the wrong person costs, beside 1 for one that is withheld wrongly")
	outFlag(cmd, &file)
	return cmd
}

func (c *cli) runTrainSupport(cmd *cobra.Command, o training.SupportOptions, file string) error {
	model, r, err := training.Support(cmd.Context(), o)
	if err != nil {
		return command.Usage(err)
	}
	if err := writeModel(file, func() ([]byte, error) { return ranking.EncodePrior(model) }); err != nil {
		return err
	}
	if c.json {
		return json.NewEncoder(c.out).Encode(r)
	}
	_, err = fmt.Fprintf(c.out, "learned from %d questions that have an answer and %d about the wrong person, on %d conversations\n"+
		"held out: abstains on %.1f %% about the wrong person and %.1f %% of the others\n",
		r.Answerable, r.Mistaken, r.Conversations, 100*r.Abstention, 100*r.FalseAbstention)
	return err
}
