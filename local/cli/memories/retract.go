package memories

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

func (c commands) retract() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:   "delete --user USER ID",
		Short: "Delete a memory: recall no longer returns it, its history keeps the text",
		Long: "delete retracts a memory, whether it is active or in quarantine. Recall no longer returns it. Its text " +
			"stays in its\n" +
			"history. `mneme erase` removes all data of a user for good.",
		Args: console.OneID(),
		RunE: func(cmd *cobra.Command, a []string) error {
			return console.Show(cmd.Context(), c.Console, (*console.Session).DeleteMemory,
				&mnemev1.DeleteMemoryRequest{UserId: user, MemoryId: a[0]},
				func(_ *console.Session, res *mnemev1.DeleteMemoryResponse) error {
					c.printChanged(res.GetMemory())
					fmt.Fprintf(c.Out, "The text stays in the history of the memory (mneme history). To remove all data of the "+
						"user for good: mneme erase --user %s\n", command.Printable(user))
					return nil
				})
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "the user")
	command.Require(cmd, "user")
	return cmd
}

func (c commands) release() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:   "release --user USER ID",
		Short: "End the quarantine of a memory, so that recall returns it",
		Args:  console.OneID(),
		RunE: func(cmd *cobra.Command, a []string) error {
			return console.Show(cmd.Context(), c.Console, (*console.Session).ReleaseMemory,
				&mnemev1.ReleaseMemoryRequest{UserId: user, MemoryId: a[0]},
				func(_ *console.Session, res *mnemev1.ReleaseMemoryResponse) error {
					c.printChanged(res.GetMemory())
					return nil
				})
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "the user")
	command.Require(cmd, "user")
	return cmd
}

// printChanged prints the new state of a memory.
func (c commands) printChanged(m *mnemev1.Memory) {
	fmt.Fprintf(c.Out, "%s is %s\n", m.GetId(), StatusName(m.GetStatus()))
}
