package memories

import (
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

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
			s, err := c.Connect(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close(cmd.Context())
			res, err := s.DeleteMemory(cmd.Context(),
				connect.NewRequest(&mnemev1.DeleteMemoryRequest{UserId: user, MemoryId: a[0]}))
			if err != nil {
				return err
			}
			if err := c.printChanged(res.Msg, res.Msg.GetMemory()); err != nil || c.JSON {
				return err
			}
			fmt.Fprintf(c.Out, "The text stays in the history of the memory (mneme history). To remove all data of the user "+
				"for good: mneme erase --user %s\n", command.Printable(user))
			return nil
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
			s, err := c.Connect(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close(cmd.Context())
			res, err := s.ReleaseMemory(cmd.Context(),
				connect.NewRequest(&mnemev1.ReleaseMemoryRequest{UserId: user, MemoryId: a[0]}))
			if err != nil {
				return err
			}
			return c.printChanged(res.Msg, res.Msg.GetMemory())
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "the user")
	command.Require(cmd, "user")
	return cmd
}

// printChanged prints the new state of a memory.
func (c commands) printChanged(answer proto.Message, m *mnemev1.Memory) error {
	if c.JSON {
		return command.WriteJSON(c.Out, console.JSON(answer))
	}
	fmt.Fprintf(c.Out, "%s is %s\n", m.GetId(), StatusName(m.GetStatus()))
	return nil
}
