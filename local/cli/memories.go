package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

func (c *cli) memories() *cobra.Command {
	var user, chosen string
	var active, quarantined bool
	cmd := &cobra.Command{
		Use:   "memories --user USER [--active | --quarantined] [--filter JSON]",
		Short: "List a user's memories, core block and working window",
		Long: "memories lists a user's memories with who said them, the day it was said and when what they tell of happened, as far as that\n" +
			"is known, then the core block and the working window. With --quarantined or --filter it lists the memories alone:\n\n" +
			`  mneme memories --user ana --filter '{"field":"metadata.project","equals":"x"}'`,
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if active && quarantined {
				return command.Usage(errors.New("--active and --quarantined exclude each other: " + cmd.UseLine()))
			}
			req := &mnemev1.ListMemoriesRequest{UserId: user}
			switch {
			case quarantined:
				req.Statuses = []mnemev1.Status{mnemev1.Status_STATUS_QUARANTINED}
			case active:
				req.Statuses = []mnemev1.Status{mnemev1.Status_STATUS_ACTIVE}
			}
			var err error
			if req.Filter, err = filterOf(chosen); err != nil {
				return err
			}
			s, err := c.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer s.close(cmd.Context())
			return c.showMemories(cmd.Context(), s, req, quarantined || req.Filter != nil)
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "the user")
	cmd.Flags().BoolVar(&active, "active", false, "only what holds now")
	cmd.Flags().BoolVar(&quarantined, "quarantined", false, "only what is kept out of recall because it looks like an attack, and why")
	filterFlag(cmd, &chosen)
	command.Require(cmd, "user")
	return cmd
}

// filterFlag adds the flag for a filter.
func filterFlag(cmd *cobra.Command, chosen *string) {
	cmd.Flags().StringVar(chosen, "filter", "", "only memories that match a filter in JSON (docs/attributes.md)")
}

// filterOf reads a filter from a flag.
func filterOf(chosen string) (*mnemev1.Filter, error) {
	f, err := memory.ParseFilter([]byte(chosen))
	if err != nil {
		return nil, command.Usage(fmt.Errorf("--%w", err))
	}
	return contract.FilterToProto(f), nil
}

// showMemories shows the memories of a request. Unless alone is set, it also shows the core block and the window.
func (c *cli) showMemories(ctx context.Context, s *session, req *mnemev1.ListMemoriesRequest, alone bool) error {
	user := req.GetUserId()
	ms, err := s.allMemories(ctx, req)
	if err != nil {
		return err
	}
	if alone {
		if c.json {
			return command.WriteJSON(c.out, map[string]any{"user": user, "memories": raws(ms)})
		}
		c.printMemories(ms)
		return nil
	}
	window, err := s.GetWorkingMemory(ctx, connect.NewRequest(&mnemev1.GetWorkingMemoryRequest{UserId: user}))
	if err != nil {
		return err
	}
	core, err := s.GetCore(ctx, connect.NewRequest(&mnemev1.GetCoreRequest{UserId: user}))
	if err != nil {
		return err
	}
	if c.json {
		return command.WriteJSON(c.out, map[string]any{
			"user": user, "memories": raws(ms), "window": raws(window.Msg.GetTurns()), "core": raw(core.Msg.GetCore()),
		})
	}
	c.printMemories(ms)
	c.printCore(core.Msg.GetCore())
	fmt.Fprintln(c.out, "working window:")
	c.printWindow(window.Msg.GetTurns())
	return nil
}

// printCore prints a core block, each line with its source memories.
func (c *cli) printCore(block *mnemev1.CoreBlock) {
	if block.GetVersion() == 0 {
		return
	}
	fmt.Fprintf(c.out, "core block, v%d:\n", block.GetVersion())
	for _, l := range block.GetLines() {
		fmt.Fprintf(c.out, "  %s (%s)\n", command.Printable(l.GetText()), strings.Join(l.GetMemoryIds(), ", "))
	}
	if len(block.GetLines()) > 0 {
		return
	}
	for line := range strings.Lines(block.GetContent()) {
		fmt.Fprintf(c.out, "  %s\n", strings.TrimSpace(command.Printable(line)))
	}
}

// allMemories reads every page of a list of memories.
func (s *session) allMemories(ctx context.Context, req *mnemev1.ListMemoriesRequest) ([]*mnemev1.Memory, error) {
	var out []*mnemev1.Memory
	req.PageSize = 500
	for {
		res, err := s.ListMemories(ctx, connect.NewRequest(req))
		if err != nil {
			return nil, err
		}
		out = append(out, res.Msg.GetMemories()...)
		if res.Msg.GetNextPageToken() == "" {
			return out, nil
		}
		req.PageToken = res.Msg.GetNextPageToken()
	}
}

func (c *cli) history() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:   "history [--user USER] ID",
		Short: "Show every version of a memory and the turns it came from",
		Args:  oneID(),
		RunE:  func(cmd *cobra.Command, a []string) error { return c.runHistory(cmd.Context(), user, a[0]) },
	}
	cmd.Flags().StringVar(&user, "user", "", "the user; empty for whoever has the memory")
	return cmd
}

func (c *cli) runHistory(ctx context.Context, user, id string) error {
	s, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer s.close(ctx)
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
		one, err := s.GetMemory(ctx, connect.NewRequest(&mnemev1.GetMemoryRequest{UserId: res.Msg.GetUserId(), MemoryId: v.GetId()}))
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
	if c.json {
		return command.WriteJSON(c.out, map[string]any{
			"user": res.Msg.GetUserId(), "versions": raws(res.Msg.GetVersions()), "sources": raws(sources),
		})
	}
	c.printMemories(res.Msg.GetVersions())
	fmt.Fprintln(c.out, "source turns:")
	c.printWindow(sources)
	return nil
}

func (c *cli) forget() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:   "delete --user USER ID",
		Short: "Retract a memory, a quarantined one too: recall no longer sees it, its history stays",
		Args:  oneID(),
		RunE: func(cmd *cobra.Command, a []string) error {
			s, err := c.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer s.close(cmd.Context())
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

func (c *cli) release() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:   "release --user USER ID",
		Short: "End the quarantine of a memory: recall sees it from then on",
		Args:  oneID(),
		RunE: func(cmd *cobra.Command, a []string) error {
			s, err := c.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer s.close(cmd.Context())
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
func (c *cli) printChanged(answer proto.Message, m *mnemev1.Memory) error {
	if c.json {
		return command.WriteJSON(c.out, raw(answer))
	}
	fmt.Fprintf(c.out, "%s is %s\n", m.GetId(), statusName(m.GetStatus()))
	return nil
}
