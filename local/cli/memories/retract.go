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
		Short: "Retract a memory, a quarantined one too: recall no longer sees it, its history stays",
		Args:  console.OneID(),
		RunE: func(cmd *cobra.Command, a []string) error {
			s, err := c.Connect(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close(cmd.Context())
			res, err := s.DeleteMemory(cmd.Context(), connect.NewRequest(&mnemev1.DeleteMemoryRequest{UserId: user, MemoryId: a[0]}))
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

func (c commands) release() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:   "release --user USER ID",
		Short: "End the quarantine of a memory: recall sees it from then on",
		Args:  console.OneID(),
		RunE: func(cmd *cobra.Command, a []string) error {
			s, err := c.Connect(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close(cmd.Context())
			res, err := s.ReleaseMemory(cmd.Context(), connect.NewRequest(&mnemev1.ReleaseMemoryRequest{UserId: user, MemoryId: a[0]}))
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
