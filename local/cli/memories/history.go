package memories

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

func (c commands) history() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:   "history [--user USER] ID",
		Short: "Show every version of a memory and its source turns",
		Args:  console.OneID(),
		RunE:  func(cmd *cobra.Command, a []string) error { return c.runHistory(cmd.Context(), user, a[0]) },
	}
	cmd.Flags().StringVar(&user, "user", "", "the user (default: the user who has the memory)")
	return cmd
}

func (c commands) runHistory(ctx context.Context, user, id string) error {
	s, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close(ctx)
	res, err := s.GetMemoryHistory(ctx, connect.NewRequest(&mnemev1.GetMemoryHistoryRequest{UserId: user, MemoryId: id}))
	var refused *connect.Error
	if user == "" && errors.As(err, &refused) && refused.Code() == connect.CodeInvalidArgument &&
		strings.HasPrefix(refused.Message(), "user_id") {
		return command.Usage(errors.New("several users have this memory: name the user with --user"))
	}
	if err != nil {
		return err
	}
	var sources []*mnemev1.Turn
	seen := map[string]bool{}
	for _, v := range res.Msg.GetVersions() {
		one, err := s.GetMemory(ctx, connect.NewRequest(&mnemev1.GetMemoryRequest{UserId: res.Msg.GetUserId(),
			MemoryId: v.GetId()}))
		if err != nil {
			return err
		}
		for _, t := range one.Msg.GetSources() {
			if !seen[t.GetTurnId()] {
				seen[t.GetTurnId()] = true
				sources = append(sources, t)
			}
		}
	}
	if c.JSON {
		return command.WriteJSON(c.Out, map[string]any{
			"user": res.Msg.GetUserId(), "versions": console.JSONs(res.Msg.GetVersions()), "sources": console.JSONs(sources),
		})
	}
	PrintMemories(c.Console, res.Msg.GetVersions())
	fmt.Fprintln(c.Out, "source turns:")
	PrintTurns(c.Console, sources)
	return nil
}
