// Package erasure holds the commands that erase a user and list running erasures.
package erasure

import (
	"fmt"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

// commands are the commands of this group.
type commands struct{ *console.Console }

// Commands returns the commands of this group.
func Commands(shared *console.Console) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.erase(), c.erasures()}
}

func (c commands) erasures() *cobra.Command {
	return &cobra.Command{
		Use:   "erasures",
		Short: "List the running erasures of the tenant",
		Long: "erasures lists the erasures that are not yet proved, oldest first, with the stores in which the last scan\n" +
			"found data. The list lacks erasures that still wait for the workflow of the user.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.Connect(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close(cmd.Context())
			res, err := s.ListErasures(cmd.Context(), connect.NewRequest(&mnemev1.ListErasuresRequest{}))
			if err != nil {
				return err
			}
			return c.printErasures(res.Msg, time.Now())
		},
	}
}

func (c commands) printErasures(list *mnemev1.ListErasuresResponse, now time.Time) error {
	if c.JSON {
		return command.WriteJSON(c.Out, map[string]any{"erasures": console.JSONs(list.GetErasures()), "more": list.GetMore()})
	}
	t := c.Table("running erasures", "user", "erasure", "runs for", "rounds", "waits for")
	for _, e := range list.GetErasures() {
		t.AppendRow([]any{
			command.Printable(e.GetUserId()), e.GetErasureId(), now.Sub(e.GetStartedAt().AsTime()).Round(time.Second),
			e.GetRounds(), remainderText(e.GetRemaining()),
		})
	}
	t.Render()
	if list.GetMore() {
		fmt.Fprintln(c.Out, "There are more.")
	}
	return nil
}
