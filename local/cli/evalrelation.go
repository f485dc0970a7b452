package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/evaluation/corpus"
	"github.com/mneme-memory/mneme/evaluation/relating"
	"github.com/mneme-memory/mneme/shared/formation/relation"
)

func (c *cli) evalRelation() *cobra.Command {
	split, worst := string(corpus.Heldout), 0
	cmd := &cobra.Command{
		Use:   "relation",
		Short: "Measure how changes of what was told are recognised",
		Long: "relation judges hand-labelled pairs of a stored and a later statement with the shipped model of relations, and prints: the share\n" +
			"of changes that it recognises and of other pairs that it takes for one, at its thresholds; which labels it mistakes for which; how\n" +
			"often there is a change where it gives a probability; and what sort of look-alikes it takes for changes.",
		Args: args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return c.runEvalRelation(corpus.Split(split), worst) },
	}
	f := cmd.Flags()
	f.StringVar(&split, "split", split, "pairs to measure on: heldout, which nothing was trained or chosen on, choose, or train")
	f.IntVar(&worst, "errors", worst, "how many of the worst errors of either sort to print")
	return cmd
}

func (c *cli) runEvalRelation(split corpus.Split, worst int) error {
	if split != corpus.Heldout && split != corpus.Choose && split != corpus.Train {
		return usageError{fmt.Errorf("--split is %q, want %s, %s or %s", split, corpus.Heldout, corpus.Choose, corpus.Train)}
	}
	if worst < 0 {
		return usageError{fmt.Errorf("--errors is %d, want 0 or more", worst)}
	}
	pairs, err := corpus.Pairs()
	if err != nil {
		return err
	}
	report, err := relating.Evaluate(relation.Shipped(), corpus.Of(pairs, split), worst)
	if err != nil {
		return err
	}
	if c.json {
		return writeJSON(c.out, report)
	}
	return report.Render(c.out)
}
