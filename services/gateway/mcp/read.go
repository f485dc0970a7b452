package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/contract"
	"github.com/mneme-memory/mneme/shared/memory"
)

// Limits of a page, from the contract in proto/.
const defaultPage, maxPage, maxTokenBytes = 100, 1000, 1024

// statuses are the states of memories by their names.
func statuses() map[string]mnemev1.Status {
	return map[string]mnemev1.Status{
		"active": mnemev1.Status_STATUS_ACTIVE, "superseded": mnemev1.Status_STATUS_SUPERSEDED,
		"retracted": mnemev1.Status_STATUS_RETRACTED, "quarantined": mnemev1.Status_STATUS_QUARANTINED,
	}
}

func statusNames() []string { return slices.Sorted(maps.Keys(statuses())) }

type listInput struct {
	UserID    string          `json:"user_id"`
	Statuses  []string        `json:"statuses"`
	Tier      string          `json:"tier"`
	PageSize  *int            `json:"page_size"`
	PageToken string          `json:"page_token"`
	Filter    json.RawMessage `json:"filter"`
}

func (in listInput) check() error {
	if err := optional("user_id", in.UserID, memory.MaxUserBytes); err != nil {
		return err
	}
	if n := len(in.Statuses); n > len(statuses()) {
		return problem.Invalid("statuses", fmt.Sprintf("are %d, want at most %d", n, len(statuses())))
	}
	for i, name := range in.Statuses {
		if err := oneOf(fmt.Sprintf("statuses[%d]", i), name, statusNames()...); err != nil {
			return err
		}
	}
	if in.Tier != "" {
		if err := oneOf("tier", in.Tier, contract.TierChoices()...); err != nil {
			return err
		}
	}
	return cmp.Or(between("page_size", in.PageSize, 1, maxPage), checkFilter(in.Filter),
		optional("page_token", in.PageToken, maxTokenBytes))
}

type listOutput struct {
	Memories []memoryView `json:"memories" jsonschema:"oldest first"`
	Next     string       `json:"next_page_token,omitempty" jsonschema:"absent on the last page"`
}

// entryInput names a memory.
type entryInput struct {
	UserID   string `json:"user_id"`
	MemoryID string `json:"memory_id"`
}

func (in entryInput) check() error {
	return cmp.Or(optional("user_id", in.UserID, memory.MaxUserBytes),
		memory.ValidText("memory_id", in.MemoryID, memory.MaxIDBytes))
}

type entryOutput struct {
	Memory  memoryView `json:"memory"`
	Sources []turnView `json:"sources" jsonschema:"the turns that it was made from, as far as they are kept"`
}

type historyOutput struct {
	UserID   string       `json:"user_id"`
	Versions []memoryView `json:"versions" jsonschema:"oldest first"`
}

type noInput struct{}

func (noInput) check() error { return nil }

type entityView struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

type entitiesOutput struct {
	Entities []entityView `json:"entities"`
}

func (s *server) addReadTools(to *sdk.Server, takes schemas) {
	const quick = "no model; some milliseconds."
	add(s, to, takes, tool{
		name: "get_memories", title: "List memories", effect: reads,
		does: "Lists a user's memories in pages, oldest first. To answer a question, use recall, which selects " +
			"the memories.",
		costs: quick + " A page of 100 memories is some thousand tokens.",
		input: object(userID(),
			list("statuses", "Memories of these states only; without it the valid ones (active).", len(statuses()),
				schema{"type": "string", "enum": statusNames()}),
			word("tier", "memory: what a reader would write down; talk: parts of turns that are only searchable; all: both. "+
				"Default: memory.",
				contract.TierChoices()...),
			number("page_size", "Number of memories in a page.", 1, maxPage, defaultPage),
			text("page_token", "The next_page_token of the previous page. Omit it for the first page.", maxTokenBytes),
			filterProperty()),
	}, s.list)
	add(s, to, takes, tool{
		name: "get_memory", title: "Get a memory", effect: reads, does: "Returns one memory with its source turns.",
		costs: quick, input: object(memoryID(), userID()),
	}, s.get)
	add(s, to, takes, tool{
		name: "get_memory_history", title: "History of a memory", effect: reads,
		does:  "Returns all versions of a memory, oldest first, with the replaced and the replacing memories.",
		costs: quick, input: object(memoryID(), userID()),
	}, s.history)
	add(s, to, takes, tool{
		name: "list_entities", title: "List users", effect: reads,
		does: "Returns the user of this connection. If the connection is for all users of a tenant, it returns no list " +
			"but the reason.",
		costs: "nothing.", input: object(),
	}, s.entities)
}

func (s *server) list(ctx context.Context, in listInput) (out listOutput, _ string, err error) {
	user, err := s.user(ctx, in.UserID)
	if err != nil {
		return out, "", err
	}
	req := &mnemev1.ListMemoriesRequest{UserId: user, PageToken: in.PageToken, Tiers: contract.TiersOf(in.Tier)}
	if req.Filter, err = filterOf(in.Filter); err != nil {
		return out, "", err
	}
	if in.PageSize != nil {
		req.PageSize = uint32(*in.PageSize) //nolint:gosec // checked
	}
	for _, name := range in.Statuses {
		req.Statuses = append(req.Statuses, statuses()[name])
	}
	if len(req.Statuses) == 0 {
		req.Statuses = []mnemev1.Status{mnemev1.Status_STATUS_ACTIVE}
	}
	return tell(ctx, s.Services.Memories.ListMemories, req, func(res *mnemev1.ListMemoriesResponse) listOutput {
		return listOutput{Memories: viewsOf(res.GetMemories()), Next: res.GetNextPageToken()}
	})
}

func (s *server) get(ctx context.Context, in entryInput) (out entryOutput, _ string, err error) {
	user, err := s.user(ctx, in.UserID)
	if err != nil {
		return out, "", err
	}
	return tell(ctx, s.Services.Memories.GetMemory, &mnemev1.GetMemoryRequest{UserId: user, MemoryId: in.MemoryID},
		func(res *mnemev1.GetMemoryResponse) entryOutput {
			return entryOutput{Memory: viewOf(res.GetMemory()), Sources: turnsOf(res.GetSources())}
		})
}

func (s *server) history(ctx context.Context, in entryInput) (out historyOutput, _ string, err error) {
	user, err := s.user(ctx, in.UserID)
	if err != nil {
		return out, "", err
	}
	return tell(ctx, s.Services.Memories.GetMemoryHistory,
		&mnemev1.GetMemoryHistoryRequest{UserId: user, MemoryId: in.MemoryID},
		func(res *mnemev1.GetMemoryHistoryResponse) historyOutput {
			return historyOutput{UserID: user, Versions: viewsOf(res.GetVersions())}
		})
}

func (s *server) entities(ctx context.Context, _ noInput) (out entitiesOutput, _ string, err error) {
	user := s.bound(ctx)
	if user == "" {
		return out, "", problem.Unsupported("Mneme keeps no list of users, because the tenant chooses their names. Pass " +
			"one as the user_id of the other tools. GET /v1/entities/ of mem0's API lists only the entities that got data " +
			"over that API")
	}
	return entitiesOutput{Entities: []entityView{{Type: "user", ID: user}}}, "", nil
}
