// Package laptop holds the commands that run Mneme on this machine and look at it: up, demo, status, trace and version.
package laptop

import (
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/cli/console"
)

// commands are the commands of this group.
type commands struct{ *console.Console }

// Commands returns the commands of this group.
func Commands(shared *console.Console) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.up(), c.demo(), c.status(), c.trace(), version()}
}
