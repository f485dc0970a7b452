package mcp

import (
	"context"

	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/shared/access"
)

// Scopes returns the required scopes of each tool, resource and prompt, by name. An entry that any key may use has
// no scopes. The services behind the gateway check the scopes again.
func Scopes() map[string][]access.Scope {
	recall, read, erase := []access.Scope{access.Recall}, []access.Scope{access.Read}, []access.Scope{access.Erase}
	return map[string][]access.Scope{
		"add_memory": {access.Ingest}, "search_memories": recall, "recall": recall, "answer": recall, "why": read,
		"get_memories": read, "get_memory": read, "get_memory_history": read, "list_entities": {},
		"update_memory": erase, "delete_memory": erase, "delete_all_memories": erase, "delete_entities": erase,
		"mneme://users/{id}/profile": recall, "mneme://users/{id}/core": read, "with_memory": recall,
	}
}

// checkScopes returns an error where the caller lacks a scope of a tool or a prompt. A call checks the scopes before
// its arguments, so that a refusal tells nothing of the arguments. Over standard input, the called gateway knows the
// caller, and checks the scopes alone.
func checkScopes(ctx context.Context, name string) error {
	p, ok := access.FromContext(ctx)
	if !ok {
		return nil
	}
	for _, s := range Scopes()[name] {
		if err := backend.Check(ctx, s, p.User); err != nil {
			return err
		}
	}
	return nil
}
