package mcp

import (
	"context"
	"strings"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

type updateInput struct {
	UserID   string `json:"user_id"`
	MemoryID string `json:"memory_id"`
	Text     string `json:"text"`
	attributes
}

func (in updateInput) check() error {
	if err := (entryInput{UserID: in.UserID, MemoryID: in.MemoryID}).check(); err != nil {
		return err
	}
	if _, err := in.read(""); err != nil {
		return err
	}
	return memory.ValidText("text", in.Text, memory.MaxTextBytes)
}

type changeOutput struct {
	Memory memoryView `json:"memory"`
}

func (s *server) addChangeTools(to *sdk.Server, takes schemas) {
	const waits = "no model; it waits until the change is written, usually well under a second, and at most 10 s."
	add(s, to, takes, tool{
		name: "update_memory", title: "Correct a memory", effect: replaces,
		does: "Writes a new version of a valid memory, in the user's words, and returns it with its new id. It supersedes " +
			"the previous version, which recall no longer shows and the history keeps. The new version keeps all metadata " +
			"that you do not set.",
		costs: waits,
		input: object(append(attributeProperties(), memoryID(),
			text("text", "The new text of the memory.", memory.MaxTextBytes).needed(), userID())...),
	}, s.update)
	add(s, to, takes, tool{
		name: "delete_memory", title: "Forget a memory", effect: replaces,
		does: "Retracts one memory. Recall no longer shows it, and its history stays. To erase all data for good, use " +
			"delete_all_memories.",
		costs: waits, input: object(memoryID(), userID()),
	}, s.remove)
}

// update writes a version by a turn. The turn's id derives from the memory's id, the text and the attributes, so a
// repeated call writes nothing more.
func (s *server) update(ctx context.Context, in updateInput) (out changeOutput, _ string, err error) {
	user, err := s.user(ctx, in.UserID)
	if err != nil {
		return out, "", err
	}
	written := strings.Join(append([]string{memory.CanonicalID(in.MemoryID), in.Text}, in.values()...), "\n")
	of, _ := in.read("") // checked
	turn := contract.TurnToProto(memory.Turn{
		ID:      "mcp-update-" + uuid.NewSHA1(uuid.NameSpaceOID, []byte(written)).String(),
		Speaker: string(memory.RoleUser), Role: memory.RoleUser, Text: in.Text, Time: s.Now().UTC(), Attributes: of,
	})
	res, err := s.Services.Memories.UpdateMemory(ctx,
		connect.NewRequest(&mnemev1.UpdateMemoryRequest{UserId: user, MemoryId: in.MemoryID, Turn: turn}))
	if err != nil {
		return out, "", err
	}
	return changeOutput{Memory: viewOf(res.Msg.GetMemory())}, "", nil
}

func (s *server) remove(ctx context.Context, in entryInput) (out changeOutput, _ string, err error) {
	user, err := s.user(ctx, in.UserID)
	if err != nil {
		return out, "", err
	}
	res, err := s.Services.Memories.DeleteMemory(ctx,
		connect.NewRequest(&mnemev1.DeleteMemoryRequest{UserId: user, MemoryId: in.MemoryID}))
	if err != nil {
		return out, "", err
	}
	return changeOutput{Memory: viewOf(res.Msg.GetMemory())}, "", nil
}
