package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/shared/formation/saliency"
)

// train is the parent of the commands that make models.
func (c *cli) train() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Train the models of the embedded policies",
		Long:  "train makes the models of the embedded policies from synthetic dialogues. It needs nothing that runs, but where it says so.",
		Args:  command.Args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		c.trainFilter(),
		c.trainReranker(),
		c.trainRelation(),
		c.trainConstraint(),
		c.trainCommitment(),
		c.trainIntent(),
		c.trainStanding(),
		c.trainMoment(),
		c.trainQuarantine(),
		c.trainSupport(),
		c.trainRelevance(),
		c.trainTexts(),
		c.trainStatements(),
		c.trainJudge(),
		c.trainPolicy(),
		c.trainWorker(),
	)
	return cmd
}

func (c *cli) trainFilter() *cobra.Command {
	o, file := training.FilterDefaults(), ""
	cmd := &cobra.Command{
		Use:   "filter",
		Short: "Train the saliency filter",
		Long: "filter trains the saliency filter on labelled and on synthetic dialogues, and prints what it measures on held-out ones. The\n" +
			"same options give the same file; without options, it is the one that the binary carries.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return c.runTrainFilter(o, file) },
	}
	f := cmd.Flags()
	f.IntVar(&o.Persons, "persons", o.Persons, "made-up people to learn from; a quarter as many again are held out")
	f.Float64Var(&o.Recall, "recall", o.Recall, "share that the threshold keeps of the turns that later requests need")
	f.Float64Var(&o.RecallWeight, "recall-weight", o.RecallWeight, "share of the loss that salient turns have")
	learningFlags(f, &o.Seed, &o.Epochs, &o.Rate, &o.Decay)
	outFlag(cmd, &file)
	return cmd
}

func (c *cli) runTrainFilter(o training.FilterOptions, file string) error {
	model, r, err := training.Filter(o)
	if err != nil {
		return command.Usage(err)
	}
	if printed, err := c.writeNetwork(file, model); printed || err != nil {
		return err
	}
	fmt.Fprintf(c.out, "learned from %d turns, %d salient; loss %.4f; threshold %.4f\n", r.Turns, r.Salient, r.Loss, model.Threshold)
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(
		w,
		"turns of\t\tsalient\tAUC\tkept %\tneeded\tkept %\tdropped % of all\tsalient of those scored 0-.2 .2-.4 .4-.6 .6-.8 .8-1",
	)
	for _, x := range []struct {
		name string
		training.FilterFigures
	}{
		{"made-up people", r.MadeUp}, {"users, threshold chosen", r.Chosen}, {"users, held out", r.Heldout},
		{"assistants, held out", r.HeldoutAssistant},
	} {
		fmt.Fprintf(
			w,
			"%s\t%d\t%d\t%.3f\t%.1f\t%d\t%.1f\t%.1f\t",
			x.name,
			x.Turns,
			x.Salient,
			x.AUC,
			100*x.Kept,
			x.Needed,
			100*x.NeededKept,
			100*x.Dropped,
		)
		for _, fifth := range x.Reliability {
			fmt.Fprintf(w, "%d/%d ", fifth[1], fifth[0])
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// writeNetwork writes a network of the filter's kind. With --json it prints the record of its training and the
// threshold.
func (c *cli) writeNetwork(file string, model saliency.Model) (printed bool, err error) {
	if err := writeModel(file, func() ([]byte, error) { return training.EncodeFilter(model) }); err != nil || !c.json {
		return false, err
	}
	record := map[string]any{}
	if err := json.Unmarshal(model.Training, &record); err != nil {
		return false, fmt.Errorf("read the record of training: %w", err)
	}
	record["threshold"] = model.Threshold
	return true, json.NewEncoder(c.out).Encode(record)
}

// learningFlags defines the options of a network's training.
func learningFlags(f *pflag.FlagSet, seed *uint64, epochs *int, rate, decay *float64) {
	f.Uint64Var(seed, "seed", *seed, "draws what is drawn, and the order of learning")
	f.IntVar(epochs, "epochs", *epochs, "how often everything is learned from")
	f.Float64Var(rate, "rate", *rate, "first rate of learning")
	f.Float64Var(decay, "decay", *decay, "pull of every weight to zero")
}

// outFlag defines the file of writeModel. It checks before the training that the file can be made.
func outFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "out", "", "file to write the model to; without one, only the measures are printed")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if *file == "" {
			return nil
		}
		f, err := besideModel(*file)
		if err != nil {
			return command.Usage(fmt.Errorf("--out: %w", err))
		}
		return errors.Join(f.Close(), os.Remove(f.Name()))
	}
}

// besideModel makes a temporary file that replaces the model's file once it is complete.
func besideModel(file string) (*os.File, error) {
	if there, err := os.Lstat(file); err == nil && !there.Mode().IsRegular() { // no folder and no device is replaced
		return nil, fmt.Errorf("%s is no regular file", file)
	}
	return os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
}

// writeModel writes encode's result to a file, all of it or nothing, over any earlier file. Without a file name it
// writes nothing.
func writeModel(file string, encode func() ([]byte, error)) error {
	if file == "" {
		return nil
	}
	data, err := encode()
	if err != nil {
		return err
	}
	f, err := besideModel(file)
	if err != nil {
		return fmt.Errorf("write model: %w", err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("write model: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
