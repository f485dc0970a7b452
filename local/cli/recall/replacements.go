package recall

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"connectrpc.com/connect"

	"github.com/mneme-memory/mneme/local/cli/console"
	"github.com/mneme-memory/mneme/local/command"
	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

// replacements returns the memories that replaced the superseded ones of a diagnosis's findings, by the id of the
// superseded memory. A memory that ended without a replacement has none.
func replacements(
	ctx context.Context, s *console.Session, user string, findings []*mnemev1.Finding, byID map[string]*mnemev1.Memory,
) (map[string]*mnemev1.Memory, error) {
	out := map[string]*mnemev1.Memory{}
	for _, f := range findings {
		for _, id := range f.GetMemoryIds() {
			if byID[id].GetStatus() != mnemev1.Status_STATUS_SUPERSEDED || out[id] != nil {
				continue
			}
			res, err := s.GetMemoryHistory(ctx, connect.NewRequest(&mnemev1.GetMemoryHistoryRequest{UserId: user, MemoryId: id}))
			if connect.CodeOf(err) == connect.CodeNotFound {
				continue // the memory was erased meanwhile
			}
			if err != nil {
				return nil, err
			}
			for _, version := range res.Msg.GetVersions() {
				if slices.Contains(version.GetPredecessorIds(), id) {
					out[id] = version
				}
			}
		}
	}
	return out, nil
}

// printState prints why an expected memory no longer holds, and the memory that replaced it with its turns.
func (c commands) printState(m, replacement *mnemev1.Memory) {
	switch m.GetStatus() {
	case mnemev1.Status_STATUS_RETRACTED:
		fmt.Fprintf(c.Out, "  memory %s was deleted\n", m.GetId())
	case mnemev1.Status_STATUS_SUPERSEDED:
		if replacement == nil {
			fmt.Fprintf(c.Out, "  memory %s ended, and no memory replaced it\n", m.GetId())
			return
		}
		fmt.Fprintf(c.Out, "  memory %s was replaced by memory %s from turn %s: %s\n", m.GetId(), replacement.GetId(),
			command.Printable(strings.Join(replacement.GetSourceTurnIds(), ", ")), command.Printable(replacement.GetContent()))
	}
}
