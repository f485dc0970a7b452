package cli

import (
	"fmt"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

func (c *cli) erasures() *cobra.Command {
	return &cobra.Command{
		Use:   "erasures",
		Short: "List the running erasures of the tenant, and what they wait for",
		Long: "erasures lists the erasures that have emptied a user's memory and are not yet proved, " +
			"the oldest first, with the stores in which\n" +
			"the last scan found something. Erasures that wait for the user's writer are not among them.",
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer s.close(cmd.Context())
			res, err := s.ListErasures(cmd.Context(), connect.NewRequest(&mnemev1.ListErasuresRequest{}))
			if err != nil {
				return err
			}
			return c.printErasures(res.Msg, time.Now())
		},
	}
}

func (c *cli) printErasures(list *mnemev1.ListErasuresResponse, now time.Time) error {
	if c.json {
		return command.WriteJSON(c.out, map[string]any{"erasures": raws(list.GetErasures()), "more": list.GetMore()})
	}
	t := c.table("user", "erasure", "runs for", "rounds", "waits for")
	for _, e := range list.GetErasures() {
		t.AppendRow([]any{
			command.Printable(e.GetUserId()), e.GetErasureId(), now.Sub(e.GetStartedAt().AsTime()).Round(time.Second), e.GetRounds(),
			remainderText(e.GetRemaining()),
		})
	}
	t.Render()
	if list.GetMore() {
		fmt.Fprintln(c.out, "There are more.")
	}
	return nil
}
