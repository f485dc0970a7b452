package mcp

import (
	"context"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/memory"
)

const promptName = "with_memory"

func (s *server) addPrompt(to *sdk.Server) {
	to.AddPrompt(&sdk.Prompt{
		Name: promptName, Title: "Answer with memory",
		Description: "Puts the user's memories that matter for a message in front of the conversation. Cost: a recall.",
		Arguments: []*sdk.PromptArgument{
			{Name: "user_id", Title: "User", Description: "The end user. Optional if the API key is for one user only."},
			{Name: "message", Title: "Message", Description: "The user's message.", Required: true},
		},
	}, func(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		res, err := s.withMemory(ctx, req.Params.Arguments)
		if err != nil {
			return nil, protocolError(s.problem(ctx, "prompt "+promptName, err))
		}
		return res, nil
	})
}

func (s *server) withMemory(ctx context.Context, given map[string]string) (*sdk.GetPromptResult, error) {
	if err := checkScopes(ctx, promptName); err != nil {
		return nil, err
	}
	for name := range given {
		if !slices.Contains([]string{"user_id", "message"}, name) {
			return nil, problem.Invalid(shortened(name), "is not an argument of this prompt")
		}
	}
	message := given["message"]
	if err := memory.ValidText("message", message, memory.MaxQueryBytes); err != nil {
		return nil, err
	}
	if err := optional("user_id", given["user_id"], memory.MaxUserBytes); err != nil {
		return nil, err
	}
	user, err := s.user(ctx, given["user_id"])
	if err != nil {
		return nil, err
	}
	profile, err := s.recalled(ctx, user, message)
	if err != nil {
		return nil, err
	}
	return &sdk.GetPromptResult{Description: "The user's memories, and the user's message", Messages: []*sdk.PromptMessage{
		{Role: "user", Content: &sdk.TextContent{Text: "What is remembered of me from earlier conversations follows. " +
			profile}},
		{Role: "user", Content: &sdk.TextContent{Text: message}},
	}}, nil
}
