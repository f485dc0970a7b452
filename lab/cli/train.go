package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/local/command"
)

// train is the parent of the commands that make models.
func (c *cli) train() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Train the models of the embedded policies",
		Long: "train makes the models of the embedded policies from synthetic dialogues. It needs nothing that runs, but " +
			"where it says so.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		c.trainReranker(),
		c.trainTexts(),
		c.trainStatements(),
		c.trainPolicy(),
		c.trainWorker(),
	)
	for _, r := range training.Recipes() {
		cmd.AddCommand(c.trainRecipe(r))
	}
	return cmd
}

func (c *cli) trainRecipe(r training.Recipe) *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   r.Name,
		Short: r.Short,
		Long: r.Name + " trains " + r.About + " It prints what it measures.\n\n" +
			"The same options give the same file. Without options, it is " + r.File + ",\nwhich the binary carries.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			made, err := r.Train(cmd.Context())
			if err != nil {
				return command.Usage(err)
			}
			if err := writeModel(file, func() ([]byte, error) { return made.File, nil }); err != nil {
				return err
			}
			return c.printRecord(made)
		},
	}
	training.Flags(cmd.Flags(), r.Options)
	outFlag(cmd, &file)
	return cmd
}

// printRecord prints the record of a training and the threshold: with --json as an object, else with a line for each
// member.
func (c *cli) printRecord(made training.Made) error {
	data, err := json.MarshalIndent(made.Record, "", "  ")
	if err != nil {
		return fmt.Errorf("print the record of training: %w", err)
	}
	if c.json {
		record := map[string]any{}
		if err := json.Unmarshal(data, &record); err != nil {
			return fmt.Errorf("print the record of training: %w", err)
		}
		record["threshold"] = made.Threshold
		return json.NewEncoder(c.out).Encode(record)
	}
	fmt.Fprintf(c.out, "threshold: %.4f\n", made.Threshold)
	for line := range strings.Lines(strings.ReplaceAll(string(data), `"`, "")) {
		if line = strings.TrimRight(line, ",{}[] \n"); line != "" {
			fmt.Fprintln(c.out, strings.TrimPrefix(line, "  "))
		}
	}
	return nil
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
