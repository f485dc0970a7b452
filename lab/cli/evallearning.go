package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/lab/practice"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/services/reranker"
	"github.com/mneme-memory/mneme/shared/fault"
	"github.com/mneme-memory/mneme/shared/platform/config"
)

// learningArgs are the flags of eval practice.
type learningArgs struct {
	file, plot        string
	seed              uint64
	steps, every      int
	candidates, shown int
	conversations     int
	seeds             int
}

func (c *cli) evalLearning() *cobra.Command {
	var a learningArgs
	cmd := &cobra.Command{
		Use:   "learning",
		Short: "Show that the reranker learns from citations, each tenant its own",
		Long: "learning streams questions of two tenants through the reranker's own code, in this process, reports\n" +
			"the memories shown that rest on evidence as cited, and measures held-out questions on the way: the\n" +
			"share of useful memories among those shown, and the share of the evidence in the first five. It does\n" +
			"so from the shipped prior and from untrained weights, with 0, 10 and 30 % of the citations wrong,\n" +
			"and shows what exploration costs and brings. Without --data it asks about made-up conversations. The\n" +
			"reranker's settings are read from MNEME_RERANKER_* as the service reads them.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runEvalLearning(cmd.Context(), a) },
	}
	f := cmd.Flags()
	f.StringVar(&a.file, "data", "", "a file of conversations with questions, as eval recall takes it (made-up "+
		"conversations)")
	f.StringVar(&a.plot, "plot", "", "file to draw the curves to: .svg or .png")
	f.Uint64Var(&a.seed, "seed", 1, "chooses what is made up, the order of the questions, and which citations are wrong")
	f.IntVar(&a.steps, "steps", 1000, "steps of each tenant's weights, each from a batch of reports "+
		"(MNEME_RERANKER_BATCH)")
	f.IntVar(&a.every, "every", 50, "steps between measurements")
	f.IntVar(&a.candidates, "candidates", 50, "memories ordered for a question")
	f.IntVar(&a.shown, "memories", 5, "memories shown")
	f.IntVar(&a.seeds, "seeds", 5, "times that learning is repeated to measure what exploration brings")
	f.IntVar(&a.conversations, "conversations", 24, "made-up conversations of a tenant; every third is held out")
	return cmd
}

func (c *cli) runEvalLearning(ctx context.Context, a learningArgs) error {
	o, err := a.options()
	if err != nil {
		return err
	}
	o.Progress = c.err
	report, err := practice.Evaluate(ctx, o)
	if fault.IsTerminal(err) {
		return command.Usage(err)
	}
	if err != nil {
		return err
	}
	if a.plot != "" {
		if err := report.Plot(a.plot); err != nil {
			return fmt.Errorf("draw %s: %w", a.plot, err)
		}
	}
	if c.json {
		return command.WriteJSON(c.out, report)
	}
	return report.Render(c.out)
}

func (a learningArgs) options() (practice.Options, error) {
	if a.plot != "" && !practice.CanPlot(a.plot) {
		return practice.Options{}, command.Usage(fmt.Errorf("--plot is %q, want a name that ends in .svg or .png", a.plot))
	}
	o, err := practice.Defaults()
	if err != nil {
		return o, err
	}
	if o.Reranker, err = config.Load[reranker.Settings](config.Environ()); err != nil {
		return o, command.Usage(err)
	}
	if a.file != "" {
		if _, err := os.Stat(a.file); err != nil {
			return o, command.Usage(err)
		}
	}
	o.Path, o.Seed, o.Steps, o.Every = a.file, a.seed, a.steps, min(a.every, a.steps)
	o.Candidates, o.Shown, o.Conversations, o.Seeds = a.candidates, a.shown, a.conversations, a.seeds
	return o, nil
}
