// Package cli is the command line of the laboratory: it trains models and policies, measures them, and exports recorded
// calls.
package cli

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/evaluation/dataset"
	"github.com/mneme-memory/mneme/local/command"
	"github.com/mneme-memory/mneme/local/standalone"
	"github.com/mneme-memory/mneme/shared/platform/runner"
)

// cli has the common state of all commands.
type cli struct {
	out, err io.Writer
	json     bool
	dir      string
}

// Execute runs the command line and returns the exit code. Results go to out, everything else to errOut.
func Execute(ctx context.Context, args []string, out, errOut io.Writer) int {
	c := &cli{out: out, err: errOut}
	root := command.NewRoot("mneme-lab", "Train the models of Mneme and repeat experiments",
		"mneme-lab makes the model files that Mneme carries, measures them, and exports recorded calls of models for "+
			"other trainers.")
	f := root.PersistentFlags()
	f.BoolVar(&c.json, "json", false, "print JSON instead of tables")
	f.StringVar(&c.dir, "data-dir", command.DefaultDir,
		"data folder of a local Mneme (mneme up), which has the address of Redis")
	root.AddCommand(c.train(), c.eval(), c.export())
	return exitCode(command.Execute(ctx, root, args, out, errOut, func(error) string { return "" }))
}

func (c *cli) eval() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Measure models, policies and learning",
		Args:  command.Args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.evalPeople(), c.evalCases(), c.evalRelation(), c.evalLearning(), c.evalTraining(), c.evalRelease(),
		c.evalKinds())
	return cmd
}

func exitCode(err error) int {
	var need *runner.NeedError
	var network *net.OpError
	switch {
	case err == nil:
		return command.ExitOK
	case command.IsUsage(err), errors.Is(err, dataset.ErrFormat):
		return command.ExitUsage
	case errors.Is(err, standalone.ErrNotRunning), errors.As(err, &need), errors.As(err, &network):
		return command.ExitUnreachable
	}
	return command.ExitFailed
}
