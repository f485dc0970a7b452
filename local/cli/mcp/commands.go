// Package mcp serves memory to an MCP client over standard input and output.
package mcp

import (
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/cli/console"
)

// commands are the commands of this group.
type commands struct{ *console.Console }

// Commands returns the commands of this group.
func Commands(shared *console.Console) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.mcp()}
}
