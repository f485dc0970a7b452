package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/relating"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/formation/relation"
	"github.com/mneme-memory/mneme/shared/formation/relation/crossencoder"
)

func (c *cli) evalRelation() *cobra.Command {
	split, worst, linear := string(corpus.Heldout), 0, false
	cmd := &cobra.Command{
		Use:   "relation",
		Short: "Measure how changes of what was told are recognised",
		Long: "relation judges hand-labelled later statements with the shipped models of relations: each held\n" +
			"against one stored statement alone, against that one among others of its writer, and against a whole\n" +
			"bank of one person. It prints the share of changes that close the right entry and of other\n" +
			"statements that close any, at its thresholds; how often there is a change where it gives a\n" +
			"probability; and what sort of look-alikes it takes for changes.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return c.runEvalRelation(corpus.Split(split), worst, linear) },
	}
	f := cmd.Flags()
	f.StringVar(&split, "split", split, "statements to measure on: heldout, which nothing was trained or chosen on, "+
		"choose, or train")
	f.BoolVar(&linear, "linear", linear, "measure the linear model alone, without the encoders")
	f.IntVar(&worst, "errors", worst, "how many of the worst errors of either sort to print")
	return cmd
}

func (c *cli) runEvalRelation(split corpus.Split, worst int, linear bool) error {
	if split != corpus.Heldout && split != corpus.Choose && split != corpus.Train {
		return command.Usage(fmt.Errorf("--split is %q, want %s, %s or %s", split, corpus.Heldout, corpus.Choose,
			corpus.Train))
	}
	if worst < 0 {
		return command.Usage(fmt.Errorf("--errors is %d, want 0 or more", worst))
	}
	pairs, err := corpus.Pairs()
	if err != nil {
		return err
	}
	banks, err := corpus.Banks(split)
	if err != nil {
		return err
	}
	pairs = corpus.Of(pairs, split)
	reports := map[string]relating.Report{}
	var judge relating.Judge = crossencoder.ShippedJudge()
	if linear {
		judge = relation.Shipped()
	}
	for _, of := range []struct {
		name string
		sets []corpus.Among
	}{
		{"pairs", corpus.AmongStrangers(pairs, 0, 1)}, {"among_strangers", corpus.AmongStrangers(pairs, 12, 1)},
		{"banks", corpus.InBanks(banks)},
	} {
		report, err := relating.Evaluate(judge, of.sets, worst)
		if err != nil {
			return fmt.Errorf("%s: %w", of.name, err)
		}
		reports[of.name] = report
		if c.json {
			continue
		}
		fmt.Fprintf(c.out, "\n%s: ", strings.ReplaceAll(of.name, "_", " "))
		if err := report.Render(c.out); err != nil {
			return err
		}
		if !linear && of.name != "among_strangers" {
			if err := relating.EvaluateParts(crossencoder.ShippedJudge().Session(), of.sets).Render(c.out); err != nil {
				return err
			}
		}
	}
	if c.json {
		return command.WriteJSON(c.out, reports)
	}
	return nil
}
