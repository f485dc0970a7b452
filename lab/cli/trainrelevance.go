package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/ranking"
)

func (c *cli) trainRelevance() *cobra.Command {
	o, file := training.RelevanceDefaults(), ""
	cmd := &cobra.Command{
		Use:   "relevance",
		Short: "Train the model of how likely a request needs what was found",
		Long: "relevance trains the model behind the floor under what profiles of requests show, on dialogues labelled by hand, and prints\n" +
			"what it says of held-out ones. The same options give the same file; without options, it is the one that the binary carries.\n" +
			"It rests on the reranker's shared prior: train it after that.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runTrainRelevance(cmd, o, file) },
	}
	f := cmd.Flags()
	f.IntSliceVar(&o.Dialogues, "dialogues", o.Dialogues, "dialogues of a user; users of each number are learned from")
	f.IntVar(&o.Users, "users", o.Users, "users of each number of dialogues at most")
	outFlag(cmd, &file)
	return cmd
}

func (c *cli) runTrainRelevance(cmd *cobra.Command, o training.RelevanceOptions, file string) error {
	model, r, err := training.Relevance(cmd.Context(), o)
	if err != nil {
		return command.Usage(err)
	}
	if err := writeModel(file, func() ([]byte, error) { return ranking.EncodePrior(model) }); err != nil {
		return err
	}
	if c.json {
		return json.NewEncoder(c.out).Encode(r)
	}
	if _, err := fmt.Fprintf(c.out, "learned from %d requests\n", r.Requests); err != nil {
		return err
	}
	for _, f := range r.Heldout {
		_, err := fmt.Fprintf(
			c.out,
			"held out, %2d dialogues a user: the likeliest five are said to hold %.1f %% of what %d requests need, and hold %.1f %%\n",
			f.Dialogues,
			100*f.Said,
			f.Requests,
			100*f.Is,
		)
		if err != nil {
			return err
		}
	}
	return nil
}
