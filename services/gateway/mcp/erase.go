package mcp

import (
	"context"

	"connectrpc.com/connect"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/memory"
)

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
	res, err := s.Services.UserData.EraseUser(ctx, connect.NewRequest(&mnemev1.EraseUserRequest{UserId: user}))
	if err != nil {
		return out, "", err
	}
	return eraseOutput{UserID: user, ErasureID: res.Msg.GetErasureId(), State: erasing}, "", nil
}
