package cli

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/evaluation/training"
	"github.com/mneme-memory/mneme/shared/ranking"
)

func (c *cli) trainReranker() *cobra.Command {
	o, file := training.PriorDefaults(), ""
	cmd := &cobra.Command{
		Use:   "reranker",
		Short: "Train the reranker's shared prior",
		Long: "reranker trains the weights that every tenant's reranker starts from, on made-up conversations with questions, and prints the\n" +
			"recall on held-out ones. The same options give the same file; without options, it is the one that the binary carries, which takes " +
			"some minutes.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runTrainReranker(cmd, o, file) },
	}
	f := cmd.Flags()
	f.Uint64Var(&o.Seed, "seed", o.Seed, "chooses the conversations")
	f.IntVar(&o.Conversations, "conversations", o.Conversations, "conversations to learn from; a quarter as many again are held out")
	f.StringVar(&file, "out", "", "file to write the prior to; without one, only the measures are printed")
	return cmd
}

func (c *cli) runTrainReranker(cmd *cobra.Command, o training.PriorOptions, file string) error {
	prior, r, err := training.Prior(cmd.Context(), o)
	if err != nil {
		return usageError{err}
	}
	if file != "" {
		data, err := ranking.EncodePrior(prior)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return fmt.Errorf("write prior: %w", err)
		}
	}
	if c.json {
		return json.NewEncoder(c.out).Encode(r)
	}
	_, err = fmt.Fprintf(c.out, "learned from %d questions on %d conversations\n"+
		"held out: %d questions; recall@5 %.1f %%, @10 %.1f %%, @20 %.1f %%\n",
		r.Questions, r.Conversations, r.Heldout, 100*r.Recall5, 100*r.Recall10, 100*r.Recall20)
	return err
}
