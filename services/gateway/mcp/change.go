package mcp

import (
	"context"
	"strings"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/problem"
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

func changeOf[M interface{ GetMemory() *mnemev1.Memory }](res M) changeOutput {
	return changeOutput{Memory: viewOf(res.GetMemory())}
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
	return tell(ctx, s.Services.Memories.UpdateMemory,
		&mnemev1.UpdateMemoryRequest{UserId: user, MemoryId: in.MemoryID, Turn: turn}, changeOf)
}

func (s *server) remove(ctx context.Context, in entryInput) (out changeOutput, _ string, err error) {
	user, err := s.user(ctx, in.UserID)
	if err != nil {
		return out, "", err
	}
	return tell(ctx, s.Services.Memories.DeleteMemory,
		&mnemev1.DeleteMemoryRequest{UserId: user, MemoryId: in.MemoryID}, changeOf)
}

// eraseInput needs a confirmation, so a missing field never erases.
type eraseInput struct {
	UserID  string `json:"user_id"`
	Confirm bool   `json:"confirm"`
}

func (in eraseInput) check() error {
	if err := optional("user_id", in.UserID, memory.MaxUserBytes); err != nil {
		return err
	}
	if !in.Confirm {
		return problem.Invalid("confirm", "is not true: ask the user first, because the tool erases all data of the "+
			"user for good")
	}
	return nil
}

type eraseOutput struct {
	UserID    string `json:"user_id"`
	ErasureID string `json:"erasure_id"`
	State     string `json:"state"`
}

// erasing is the value of eraseOutput.State.
const erasing = "Accepted. Mneme erases all earlier data within moments. Later statements are new data."

func (s *server) addEraseTools(to *sdk.Server, takes schemas) {
	const costs = "no model; it answers at once, and the erasure is done within moments."
	add(s, to, takes, tool{
		name: "delete_all_memories", title: "Erase all memories of a user", effect: replaces, costs: costs,
		does:  "Erases all data of a user: memories, their history and turns. No call can undo it.",
		input: object(userID(), confirm()),
	}, s.erase)
	add(s, to, takes, tool{
		name: "delete_entities", title: "Erase a user", effect: replaces, costs: costs,
		does:  "Erases a user with all data of the user, like delete_all_memories. No call can undo it.",
		input: object(userID(), confirm()),
	}, s.erase)
}

func (s *server) erase(ctx context.Context, in eraseInput) (out eraseOutput, _ string, err error) {
	user, err := s.user(ctx, in.UserID)
	if err != nil {
		return out, "", err
	}
	return tell(ctx, s.Services.UserData.EraseUser, &mnemev1.EraseUserRequest{UserId: user},
		func(res *mnemev1.EraseUserResponse) eraseOutput {
			return eraseOutput{UserID: user, ErasureID: res.GetErasureId(), State: erasing}
		})
}
