// Package command has the shared parts of the command lines mneme and mneme-lab: exit codes, usage errors, checks of
// flags and output.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/shared/platform/runner"
)

// Exit codes.
const (
	ExitOK          = 0
	ExitFailed      = 1 // the operation failed
	ExitUsage       = 2 // wrong flags, arguments or input files
	ExitUnreachable = 3 // no Mneme answers at the address
)

// UsageError is an error that the caller can correct. Usage makes one.
type UsageError struct{ error }

// Unwrap returns the cause.
func (u UsageError) Unwrap() error { return u.error }

// Usage marks an error as one that the caller can correct.
func Usage(err error) error { return UsageError{err} }

// UnreachableError is an error of a system that does not answer. Unreachable makes one.
type UnreachableError struct{ error }

// Unwrap returns the cause.
func (u UnreachableError) Unwrap() error { return u.error }

// Unreachable marks an error as one of a system that does not answer.
func Unreachable(err error) error { return UnreachableError{err} }

// NewRoot returns the root command of a command line.
func NewRoot(name, short, long string) *cobra.Command {
	root := &cobra.Command{
		Use: name, Short: short,
		Long: long + "\n\nExit codes: 0 success, 1 the operation failed, 2 wrong usage or input, 3 " +
			"nothing reachable.",
		Version:       runner.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          commandsOnly,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		// Flags after a misspelt command are unknown, but the mistake is the command.
		if given := cmd.Flags().Args(); cmd.HasSubCommands() && len(given) > 0 {
			err = unknownCommand(cmd, given[0])
		}
		return Usage(err)
	})
	return root
}

// commandsOnly refuses the arguments of a command that only has subcommands.
func commandsOnly(cmd *cobra.Command, given []string) error {
	if len(given) > 0 {
		return Usage(unknownCommand(cmd, given[0]))
	}
	return nil
}

// unknownCommand names the subcommand with a similar name.
func unknownCommand(cmd *cobra.Command, given string) error {
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(given); len(near) > 0 {
		return fmt.Errorf("no command %q; did you mean %q?", given, near[0])
	}
	return fmt.Errorf("no command %q: see %s --help", given, cmd.CommandPath())
}

// Execute runs a command line. Results go to out, everything else to errOut; hint says what to do next after an error,
// or nothing.
func Execute(
	ctx context.Context, root *cobra.Command, given []string, out, errOut io.Writer, hint func(error) string,
) error {
	root.SetArgs(given)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return nil
	}
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		lines[i] = Printable(line)
	}
	fmt.Fprintf(errOut, "%s: %s\n", root.Name(), strings.Join(lines, "\n"))
	if next := hint(err); next != "" {
		fmt.Fprintf(errOut, "       %s\n", next)
	}
	return err
}

// IsUsage reports whether an error is a UsageError.
func IsUsage(err error) bool {
	var usage UsageError
	return errors.As(err, &usage)
}

// Args turns wrong arguments into usage errors.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if err := check(cmd, given); err != nil {
			return Usage(err)
		}
		return nil
	}
}

// Group is a command with subcommands.
func Group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: commandsOnly,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}
