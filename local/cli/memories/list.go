// Package memories holds the commands that list, retract, release, export and import memories.
package memories

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

// commands are the commands of this group.
type commands struct{ *console.Console }

// Commands returns the commands of this group.
func Commands(shared *console.Console) []*cobra.Command {
	c := commands{shared}
	return []*cobra.Command{c.memories(), c.history(), c.retract(), c.release(), c.export(), c.importUser()}
}

func (c commands) memories() *cobra.Command {
	var user, chosen, tier string
	var active, quarantined bool
	cmd := &cobra.Command{
		Use:   "memories --user USER [--active | --quarantined] [--tier TIER] [--filter JSON]",
		Short: "List the memories, core block and working memory of a user",
		Long: "memories lists the memories of a user with their speakers, the days of their source turns and the times of\n" +
			"the described events. Then it prints the core block and the working memory. With --quarantined, --tier or\n" +
			"--filter it lists only memories:\n" +
			"\n" +
			`  mneme memories --user ana --filter '{"field":"metadata.project","equals":"x"}'`,
		Args: command.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if active && quarantined {
				return command.Usage(errors.New("--active and --quarantined exclude each other: " + cmd.UseLine()))
			}
			if !slices.Contains(contract.TierChoices(), tier) {
				return command.Usage(fmt.Errorf("--tier is %q, want one of %q", tier, contract.TierChoices()))
			}
			req := &mnemev1.ListMemoriesRequest{UserId: user, Tiers: contract.TiersOf(tier)}
			switch {
			case quarantined:
				req.Statuses = []mnemev1.Status{mnemev1.Status_STATUS_QUARANTINED}
			case active:
				req.Statuses = []mnemev1.Status{mnemev1.Status_STATUS_ACTIVE}
			}
			var err error
			if req.Filter, err = ParseFilter(chosen); err != nil {
				return err
			}
			s, err := c.Connect(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close(cmd.Context())
			return c.showMemories(cmd.Context(), s, req, quarantined || cmd.Flags().Changed("tier") || req.Filter != nil)
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "the user")
	cmd.Flags().BoolVar(&active, "active", false, "only active memories")
	cmd.Flags().BoolVar(&quarantined, "quarantined", false,
		"only memories in quarantine, with the reason: recall hides them as suspected attacks")
	cmd.Flags().StringVar(&tier, "tier", contract.TierChoices()[0],
		"memory: statements worth writing down; talk: parts of turns that are only searchable; all: both")
	FilterFlag(cmd, &chosen)
	command.Require(cmd, "user")
	return cmd
}

// FilterFlag adds the flag for a filter.
func FilterFlag(cmd *cobra.Command, chosen *string) {
	cmd.Flags().StringVar(chosen, "filter", "", "only memories that match a JSON filter (docs/attributes.md)")
}

// ParseFilter reads a filter from a flag.
func ParseFilter(chosen string) (*mnemev1.Filter, error) {
	f, err := memory.ParseFilter([]byte(chosen))
	if err != nil {
		return nil, command.Usage(fmt.Errorf("--%w", err))
	}
	return contract.FilterToProto(f), nil
}

// showMemories shows the memories of a request. Unless alone is set, it also shows the core block and the window.
func (c commands) showMemories(
	ctx context.Context, s *console.Session, req *mnemev1.ListMemoriesRequest, alone bool,
) error {
	user := req.GetUserId()
	ms, err := All(ctx, s, req)
	if err != nil {
		return err
	}
	if alone {
		if c.JSON {
			return command.WriteJSON(c.Out, map[string]any{"user": user, "memories": console.JSONs(ms)})
		}
		if len(ms) == 0 {
			if unknown, err := IsUnknown(ctx, s, user); err != nil || unknown {
				return c.printUnknown(user, err)
			}
		}
		PrintMemories(c.Console, ms)
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
	if c.JSON {
		return command.WriteJSON(c.Out, map[string]any{
			"user": user, "memories": console.JSONs(ms), "window": console.JSONs(window.Msg.GetTurns()),
			"core": console.JSON(core.Msg.GetCore()),
		})
	}
	if len(ms) == 0 && len(window.Msg.GetTurns()) == 0 {
		if unknown, err := IsUnknown(ctx, s, user); err != nil || unknown {
			return c.printUnknown(user, err)
		}
	}
	PrintMemories(c.Console, ms)
	PrintCore(c.Console, core.Msg.GetCore())
	fmt.Fprintln(c.Out, "working memory:")
	PrintTurns(c.Console, window.Msg.GetTurns())
	return nil
}

// All reads every page of a list of memories.
func All(ctx context.Context, s *console.Session, req *mnemev1.ListMemoriesRequest) ([]*mnemev1.Memory, error) {
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

// IsUnknown reports whether a user has no memories, no turns in working memory and no core block. It is false for a
// key that may not list them.
func IsUnknown(ctx context.Context, s *console.Session, user string) (bool, error) {
	ms, err := s.ListMemories(ctx, connect.NewRequest(&mnemev1.ListMemoriesRequest{UserId: user, PageSize: 1,
		Tiers: contract.TiersOf("all")}))
	if connect.CodeOf(err) == connect.CodePermissionDenied {
		return false, nil
	}
	if err != nil || len(ms.Msg.GetMemories()) > 0 {
		return false, err
	}
	window, err := s.GetWorkingMemory(ctx, connect.NewRequest(&mnemev1.GetWorkingMemoryRequest{UserId: user}))
	if err != nil || len(window.Msg.GetTurns()) > 0 {
		return false, err
	}
	core, err := s.GetCore(ctx, connect.NewRequest(&mnemev1.GetCoreRequest{UserId: user}))
	return err == nil && core.Msg.GetCore().GetVersion() == 0, err
}

// UnknownUser is the text for a user without data.
func UnknownUser(user string) string { return "nothing is kept of user " + command.Printable(user) }

// printUnknown prints that nothing is kept of a user, or returns the error.
func (c commands) printUnknown(user string, err error) error {
	if err == nil {
		fmt.Fprintln(c.Out, UnknownUser(user))
	}
	return err
}
