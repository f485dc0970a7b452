// Package operations holds operators' commands for dead letters, migrations, recorded calls of models and learned
// weights.
package operations

import (
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/cli/console"
)

// commands are the commands of this group.
type commands struct{ *console.Console }

// Commands returns the commands of this group.
func Commands(shared *console.Console) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.replay(), c.migrate(), c.records(), c.reranker()}
}
