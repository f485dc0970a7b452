package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/lab/reinforcement"
	"github.com/mneme-memory/mneme/local/command"
)

// trainingReport is the result of eval training. Ceilings have the truth in place of decisions. Experiments are by
// paper.
type trainingReport struct {
	Ceilings    []reinforcement.Arm                 `json:"ceilings,omitempty"`
	Experiments map[string]reinforcement.Experiment `json:"experiments"`
}

// ceilings is the name of the measurement of the possible gain, in the list of the papers' names.
const ceilings = "ceilings"

// experiments are all experiments, in order.
var experiments = []struct {
	paper string
	run   func(context.Context, reinforcement.ExperimentOptions) (reinforcement.Experiment, error)
	// measures are the printed measures. Measures of people come for both kinds of words.
	measures []string
}{
	{"deltamem", reinforcement.DeltaMem, []string{"update_hits", "wrong_updates", "answered", "searches_per_memory", "same_reward"}},
	{"membuilder", reinforcement.MemBuilder, []string{"answered", "update_hits", "words_per_user", "same_reward"}},
	{"memory-r2", reinforcement.MemoryR2, []string{
		"rank_correlation", "error_variance", "gradient_cosine", "answered", "update_hits", "same_reward",
	}},
	{"salimory", reinforcement.SaliMory, []string{"lost_memory", "lost_profile", "lost_answer", "vague", "kappa", "same_reward"}},
	{"rmm", reinforcement.RMM, []string{"recall@5", "useful"}},
}

func (c *cli) evalTraining() *cobra.Command {
	o, quick, papers, roles, plots := reinforcement.ExperimentDefaults(), false, []string(nil), []string(nil), ""
	all := []string{ceilings}
	for _, e := range experiments {
		all = append(all, e.paper)
	}
	cmd := &cobra.Command{
		Use:   "training",
		Short: "Hold what papers claim of training against trainings of the embedded policy",
		Long: "training first measures what there is to gain, with the truth in place of decisions. Then it trains policies on made-up\n" +
			"lives in several ways, each with the same seeds, from a weak start and from the shipped models, and prints\n" +
			"what they do with other people: means with 95 % intervals over seeds, in words that were learned from\n" +
			"and in others. --json has all measures, and the " +
			"differences to each way before.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if quick {
				o = o.Quick()
			}
			o.Options.Roles = rolesOf(roles)
			for _, p := range papers {
				if !slices.Contains(all, p) {
					return command.Usage(fmt.Errorf("--only has %q, want some of %s", p, strings.Join(all, ", ")))
				}
			}
			return c.runEvalTraining(cmd.Context(), o, papers, plots)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&quick, "quick", false,
		"three seeds of small trainings from the weak start, whatever else is set: rough, in some minutes on two cores")
	f.StringSliceVar(&papers, "only", all, "what is measured: what there is to gain, and papers whose claims are tried")
	rolesFlag(f, &roles)
	f.StringVar(&plots, "plots", "", "folder for the curves of rewards, an SVG a paper")
	f.IntVar(&o.Seeds, "seeds", o.Seeds, "paired seeds")
	f.IntVar(&o.Held, "held", o.Held, "other people to measure on, of each kind of words")
	f.IntVar(&o.Continuations, "continuations", o.Continuations, "ways on from a state that tell what a draw was worth")
	f.StringSliceVar(&o.Starts, "starts", o.Starts, "what trainings begin from: weak, shipped")
	f.IntVar(&o.Options.Persons, "persons", o.Options.Persons, "made-up people to learn from")
	f.IntVar(&o.Options.Sessions, "sessions", o.Options.Sessions, "sessions of each")
	f.IntVar(&o.Options.Group, "group", o.Options.Group, "times that each session is drawn")
	return cmd
}

func (c *cli) runEvalTraining(ctx context.Context, o reinforcement.ExperimentOptions, papers []string, plots string) error {
	if err := o.Validate(); err != nil {
		return command.Usage(err)
	}
	if plots != "" {
		if err := os.MkdirAll(plots, 0o750); err != nil {
			return command.Usage(err)
		}
	}
	step := func(what string) {
		bar := command.NewBar(c.err, -1, what)
		total := 0
		o.Total = func(n int) { total += n; bar.ChangeMax(total) }
		o.Progress = func() { _ = bar.Add(1) } // a failed bar is no reason to stop
	}
	report := trainingReport{Experiments: map[string]reinforcement.Experiment{}}
	if slices.Contains(papers, ceilings) {
		step(ceilings)
		var err error
		if report.Ceilings, err = reinforcement.Ceilings(ctx, o); err != nil {
			return err
		}
		if !c.json {
			fmt.Fprintln(c.out, "what there is to gain")
			c.printArms(report.Ceilings, []string{"update_hits", "wrong_updates", "answered", "kappa", "lost_memory", "lost_profile", "lost_answer"})
		}
	}
	for _, e := range experiments {
		if !slices.Contains(papers, e.paper) {
			continue
		}
		step(e.paper)
		x, err := e.run(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", e.paper, err)
		}
		report.Experiments[e.paper] = x
		if plots != "" {
			if err := x.Plot(filepath.Join(plots, e.paper+".svg")); err != nil {
				return err
			}
		}
		if !c.json {
			fmt.Fprintf(c.out, "\n%s: %s?\n", x.Paper, x.Claim)
			c.printArms(x.Arms, e.measures)
		}
	}
	if c.json {
		return command.WriteJSON(c.out, report)
	}
	return nil
}

// printArms prints measures of arms, in percent. Measures of people have training words first, then other words.
func (c *cli) printArms(arms []reinforcement.Arm, measures []string) {
	header := []any{"arm", "start"}
	for _, m := range measures {
		header = append(header, strings.ReplaceAll(m, "_", " ")+" %")
	}
	t := command.NewTable(c.out, header...)
	for _, a := range arms {
		row := []any{a.Name, a.Start}
		for _, m := range measures {
			var cells []string
			for _, name := range []string{m, m + "/train", m + "/heldout"} {
				if e, ok := a.Measures[name]; ok {
					cells = append(cells, percent(e))
				}
			}
			row = append(row, strings.Join(cells, "; "))
		}
		t.AppendRow(row)
	}
	t.Render()
}

// percent formats an estimate for people.
func percent(e reinforcement.Estimate) string {
	if e.Seeds < 2 {
		return fmt.Sprintf("%.1f", 100*e.Mean)
	}
	return fmt.Sprintf("%.1f ± %.1f", 100*e.Mean, 100*e.Half)
}
