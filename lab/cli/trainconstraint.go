package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/lab/corpus"
	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/local/command"
)

func (c *cli) trainConstraint() *cobra.Command {
	o, file := training.ConstraintDefaults(), ""
	cmd := &cobra.Command{
		Use:   "constraint",
		Short: "Train the model of constraints",
		Long: "constraint trains the model that tells which memories bind and stand, for the core block, on labelled statements and\n" +
			"on some drawn from patterns. The same options give the same file; without options, it is the one that the binary carries.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return c.runTrainConstraint(o, file) },
	}
	f := cmd.Flags()
	f.IntVar(&o.Phrased, "phrased", o.Phrased, "statements of what binds that are drawn from patterns")
	f.Float64Var(&o.Passing, "passing", o.Passing, "share of what does not bind that the threshold lets pass, where it is chosen")
	learningFlags(f, &o.Seed, &o.Epochs, &o.Rate, &o.Decay)
	outFlag(cmd, &file)
	return cmd
}

func (c *cli) runTrainConstraint(o training.ConstraintOptions, file string) error {
	model, r, err := training.Constraint(o)
	if err != nil {
		return command.Usage(err)
	}
	if printed, err := c.writeNetwork(file, model); printed || err != nil {
		return err
	}
	always, taste, not := corpus.BindsAlways, corpus.BindsTaste, corpus.BindsNot
	fmt.Fprintf(c.out, "learned from %d labelled statements, %d binding and %d strong; loss %.4f; threshold %.4f\n",
		r.Labelled[always]+r.Labelled[taste]+r.Labelled[not], r.Labelled[always], r.Labelled[taste], r.Loss, model.Threshold)
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "statements\tAUC\tbinding passed\tstrong passed\tothers passed")
	for _, x := range []struct {
		name string
		training.ConstraintFigures
	}{{"threshold chosen", r.Chosen}, {"held out, quoted", r.Heldout}, {"held out, written", r.Written}} {
		fmt.Fprintf(w, "%s\t%.3f", x.name, x.AUC)
		for _, label := range []corpus.Binding{always, taste, not} {
			fmt.Fprintf(w, "\t%d/%d", x.Passed[label], x.Statements[label])
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
