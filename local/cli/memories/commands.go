// Package memories holds the commands that list, retract, release, export and import memories.
package memories

import (
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/cli/console"
)

// commands are the commands of this group.
type commands struct{ *console.Console }

// Commands returns the commands of this group.
func Commands(shared *console.Console) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.memories(), c.history(), c.retract(), c.release(), c.export(), c.importUser()}
}
