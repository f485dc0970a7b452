// Package tenants holds operators' commands for tenants, their keys and their usage.
package tenants

import (
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/cli/console"
)

// commands are the commands of this group.
type commands struct{ *console.Console }

// Commands returns the commands of this group.
func Commands(shared *console.Console) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.tenants(), c.keys(), c.usage()}
}
