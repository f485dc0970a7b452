package cli

import (
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/formation/relation"
)

func (c *cli) trainStatements() *cobra.Command {
	return &cobra.Command{
		Use:   "statements",
		Short: "Print the statements that the cross-encoder learns from",
		Long: "statements prints the statements that the models of relations learn from, a JSON object a line, with\n" +
			"what the linear one makes of them, and small talk. `make cross-encoder` trains the cross-encoder and\n" +
			"the model of messages on them.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			statements, err := training.Statements(cmd.Context(), corpus.Train, training.StatementDefaults())
			if err != nil {
				return err
			}
			smallTalk, err := training.SmallTalk(corpus.Train)
			if err != nil {
				return err
			}
			return training.WriteStatements(c.out, statements, smallTalk, relation.Shipped())
		},
	}
}
