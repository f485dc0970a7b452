// Package cli wires the commands of mneme. Each subfolder holds a group of commands.
package cli

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/cli/conversations"
	"github.com/mneme-memory/mneme/local/cli/erasure"
	"github.com/mneme-memory/mneme/local/cli/evaluate"
	"github.com/mneme-memory/mneme/local/cli/laptop"
	"github.com/mneme-memory/mneme/local/cli/mcp"
	"github.com/mneme-memory/mneme/local/cli/memories"
	"github.com/mneme-memory/mneme/local/cli/operations"
	"github.com/mneme-memory/mneme/local/cli/recall"
	"github.com/mneme-memory/mneme/local/cli/tenants"
	"github.com/mneme-memory/mneme/local/command"
)

// Execute runs the command line and returns the exit code. Results go to out, all other output to errOut.
func Execute(ctx context.Context, args []string, out, errOut io.Writer) int {
	c := &console.Console{Out: out, Err: errOut}
	err := command.Execute(ctx, newRoot(c), args, out, errOut, console.Hint)
	return console.ExitCode(err)
}

func newRoot(c *console.Console) *cobra.Command {
	root := command.NewRoot("mneme", "Long-term memory for multi-tenant assistants",
		"mneme runs Mneme on a laptop (up, demo) and talks to a running one (everything else).")
	c.Flags(root)
	root.AddCommand(slices.Concat(laptop.Commands(c), conversations.Commands(c), memories.Commands(c), recall.Commands(c),
		erasure.Commands(c), tenants.Commands(c), operations.Commands(c), evaluate.Commands(c), mcp.Commands(c))...)
	return root
}
