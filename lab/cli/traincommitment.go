package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/lab/training"
	"github.com/mneme-memory/mneme/local/command"
)

func (c *cli) trainCommitment() *cobra.Command {
	o, file := training.CommitmentDefaults(), ""
	cmd := &cobra.Command{
		Use:   "commitment",
		Short: "Train the model of what an assistant commits itself to",
		Long: "commitment trains the model that tells which of an assistant's sentences say what it has done, noted or promised, on\n" +
			"labelled sentences. The same options give the same file; without options, it is the one that the binary carries.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return c.runTrainCommitment(o, file) },
	}
	f := cmd.Flags()
	f.Float64Var(&o.Passing, "passing", o.Passing, "share of what commits to nothing that the threshold lets pass, where it is chosen")
	learningFlags(f, &o.Seed, &o.Epochs, &o.Rate, &o.Decay)
	outFlag(cmd, &file)
	return cmd
}

func (c *cli) runTrainCommitment(o training.CommitmentOptions, file string) error {
	model, r, err := training.Commitment(o)
	if err != nil {
		return command.Usage(err)
	}
	if printed, err := c.writeNetwork(file, model); printed || err != nil {
		return err
	}
	fmt.Fprintf(c.out, "learned from %d sentences; loss %.4f; threshold %.4f\n", r.Sentences, r.Loss, model.Threshold)
	for _, x := range []struct {
		name string
		training.CommitmentFigures
	}{{"threshold chosen", r.Chosen}, {"held out", r.Heldout}} {
		fmt.Fprintf(c.out, "%s: of %d that commit %d pass, of %d others %d\n", x.name, x.Commit, x.CommitPassed, x.Others, x.OthersPassed)
	}
	return nil
}
