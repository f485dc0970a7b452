package mcp

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"connectrpc.com/connect"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/memory"
)

const (
	resourcePrefix = "mneme://users/"
	mimeType       = "text/plain"
	// profileQuery is the query of a profile, which has no question.
	profileQuery = "What matters about this user?"
)

// kind is a kind of resources: one of each user.
type kind struct {
	suffix, name, title, description string
	read                             func(ctx context.Context, user string) (string, error)
}

func (s *server) kinds() []kind {
	return []kind{
		{
			suffix: "/profile", name: "profile", title: "Profile of a user", read: s.profile,
			description: "The user's profile: core block, constraints, preferences, facts, recent turns. Cost: a recall.",
		},
		{
			suffix: "/core", name: "core", title: "Core block of a user", read: s.core,
			description: "The user's core block. Cost: no model; some milliseconds.",
		},
	}
}

func (s *server) addResources(to *sdk.Server) {
	for _, k := range s.kinds() {
		to.AddResourceTemplate(&sdk.ResourceTemplate{
			URITemplate: resourcePrefix + "{id}" + k.suffix, Name: k.name, Title: k.title, MIMEType: mimeType,
			Description: k.description + " {id} is the user, percent-encoded.",
		}, func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			text, err := s.read(ctx, k, req.Params.URI)
			if err != nil {
				return nil, protocolError(s.problem(ctx, "resource "+k.name, err))
			}
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: mimeType,
				Text: text}}}, nil
		})
	}
}

// uri is the address of the resource of a user.
func (k kind) uri(user string) string {
	// QueryEscape leaves but letters, digits and -_.~ as they are, and writes a space as +.
	return resourcePrefix + strings.ReplaceAll(url.QueryEscape(user), "+", "%20") + k.suffix
}

// user returns the user of a resource's address.
func (k kind) user(uri string) (string, error) {
	user, some := strings.CutPrefix(uri, resourcePrefix)
	user, kind := strings.CutSuffix(user, k.suffix)
	if !some || !kind || strings.ContainsAny(user, "/?#") {
		return "", problem.Invalid("uri", "is invalid, want one of "+resourcePrefix+"{id}"+k.suffix)
	}
	user, err := url.PathUnescape(user)
	if err != nil {
		return "", problem.Invalid("uri", "has a user that is not percent-encoded")
	}
	return user, nil
}

func (s *server) read(ctx context.Context, k kind, uri string) (string, error) {
	user, err := k.user(uri)
	if err != nil {
		return "", err
	}
	if err := memory.ValidUser(user); err != nil {
		return "", err
	}
	return k.read(ctx, user)
}

// profile returns the recall without a question. The core block is a part of it.
func (s *server) profile(ctx context.Context, user string) (string, error) {
	return s.recalled(ctx, user, profileQuery)
}

func (s *server) recalled(ctx context.Context, user, query string) (string, error) {
	res, err := s.Services.Recall.Recall(ctx, connect.NewRequest(&mnemev1.RecallRequest{UserId: user, Query: query}))
	if err != nil {
		return "", err
	}
	return fenced(res.Msg.GetProfile()), nil
}

func (s *server) core(ctx context.Context, user string) (string, error) {
	res, err := s.Services.Memories.GetCore(ctx, connect.NewRequest(&mnemev1.GetCoreRequest{UserId: user}))
	if err != nil {
		return "", err
	}
	return fenced(res.Msg.GetCore().GetContent()), nil
}

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
