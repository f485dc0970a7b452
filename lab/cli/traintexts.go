package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/local/command"
)

func (c *cli) trainTexts() *cobra.Command {
	return &cobra.Command{
		Use:   "texts",
		Short: "Print the texts that sentence vectors are fitted on",
		Long: "texts prints what users say in the part of the corpus that models learn from, a JSON string a line.\n" +
			"`make word-vectors` fits the sentence vectors on them.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			texts, err := training.Texts()
			if err != nil {
				return err
			}
			encoder := json.NewEncoder(c.out)
			encoder.SetEscapeHTML(false)
			for _, t := range texts {
				if err := encoder.Encode(t); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
