package cli

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/local/command"
)

func (c *cli) trainMoment() *cobra.Command {
	o, file := training.MomentDefaults(), ""
	cmd := &cobra.Command{
		Use:   "moment",
		Short: "Train the model of what matters for the moment only",
		Long: "moment trains the model that tells what is for working memory only from what lasts, on labelled\n" +
			"statements and dialogues. The same options give the same file; without options, it is the one that the binary carries.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return c.runTrainMoment(o, file) },
	}
	f := cmd.Flags()
	f.Float64Var(&o.Cost, "cost", o.Cost, "weight of the loss against the squared weights")
	f.IntVar(&o.Holders, "holders", o.Holders, "how many statements have to have a word for something to be learned of it")
	f.IntVar(&o.Repeats, "repeats", o.Repeats, "how often a statement that was written for its label counts")
	outFlag(cmd, &file)
	return cmd
}

func (c *cli) runTrainMoment(o training.MomentOptions, file string) error {
	model, r, err := training.Moment(o)
	if err != nil {
		return command.Usage(err)
	}
	encode := func() ([]byte, error) {
		data, err := json.MarshalIndent(model, "", "\t")
		return append(data, '\n'), err
	}
	if err := writeModel(file, encode); err != nil {
		return err
	}
	if c.json {
		return json.NewEncoder(c.out).Encode(r)
	}
	fmt.Fprintf(c.out, "learned from %d statements, %d of the moment; %d terms; threshold %.4f\n",
		r.Statements, r.Passing, len(model.Weights), model.Threshold)
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "statements\tlasting, taken for the moment\tof the moment, found")
	for _, x := range []struct {
		name string
		training.MomentFigures
	}{
		{"threshold chosen", r.Chosen}, {"held out", r.Heldout}, {"held out, written", r.Written},
		{"turns of dialogues that are needed, others", r.Needed},
	} {
		fmt.Fprintf(w, "%s\t%d/%d\t%d/%d\n", x.name, x.Lost, x.Lasting, x.Found, x.Passing)
	}
	return w.Flush()
}
