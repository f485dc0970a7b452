package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/local/command"
)

func (c *cli) trainQuarantine() *cobra.Command {
	o, file := training.QuarantineDefaults(), ""
	cmd := &cobra.Command{
		Use:   "quarantine",
		Short: "Train the model of attacks on the memory",
		Long: "quarantine trains the model that tells sentences that attack the memory from others, on labelled turns.\n" +
			"The same options give the same file; without options, it is the one that the binary carries.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return c.runTrainQuarantine(o, file) },
	}
	f := cmd.Flags()
	f.Uint64Var(&o.Seed, "seed", o.Seed, "draws the order of learning")
	f.Float64Var(&o.Alarms, "alarms", o.Alarms, "share of harmless turns that the threshold takes for an attack")
	f.Float64Var(&o.Doubts, "doubts", o.Doubts, "share of harmless turns that have a doubted sentence")
	f.IntVar(&o.Plain, "plain", o.Plain, "how many turns of the dialogues are added as harmless")
	f.IntVar(&o.Epochs, "epochs", o.Epochs, "how often each sentence is learned")
	f.Float64Var(&o.Rate, "rate", o.Rate, "rate of learning")
	f.Float64Var(&o.Decay, "decay", o.Decay, "decay of the weights")
	outFlag(cmd, &file)
	return cmd
}

func (c *cli) runTrainQuarantine(o training.QuarantineOptions, file string) error {
	model, r, err := training.Quarantine(o)
	if err != nil {
		return command.Usage(err)
	}
	if err := writeModel(file, model.Encode); err != nil {
		return err
	}
	if c.json {
		return json.NewEncoder(c.out).Encode(r)
	}
	fmt.Fprintf(c.out, "learned from %d turns, %d with an attack; thresholds %.4f and %.4f\n",
		r.Turns, r.Attacks, model.Threshold, model.Doubt)
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "left out\thostile clauses\tnot held\tneither held nor doubted\tharmless turns\theld\tdoubted")
	row := func(name string, f training.AttackFigures) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", name, f.Hostile, f.Missed, f.Trusted, f.Harmless, f.Taken, f.Doubted)
	}
	row("a fifth", r.Mixed)
	for _, folds := range []map[string]training.AttackFigures{r.Writers, r.Languages} {
		for _, name := range slices.Sorted(maps.Keys(folds)) {
			row(name, folds[name])
		}
	}
	return w.Flush()
}
