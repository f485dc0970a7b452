package mcp

import "github.com/mneme-memory/mneme/shared/access"

// Scopes returns the required scopes of each tool, resource and prompt, by name. An entry that any key may use has
// no scopes. The services behind the gateway check the scopes. This list states the result for OpenAPI.
func Scopes() map[string][]access.Scope {
	recall, read, erase := []access.Scope{access.Recall}, []access.Scope{access.Read}, []access.Scope{access.Erase}
	return map[string][]access.Scope{
		"add_memory": {access.Ingest}, "search_memories": recall, "recall": recall, "answer": recall, "why": read,
		"get_memories": read, "get_memory": read, "get_memory_history": read, "list_entities": {},
		"update_memory": erase, "delete_memory": erase, "delete_all_memories": erase, "delete_entities": erase,
		"mneme://users/{id}/profile": recall, "mneme://users/{id}/core": read, "with_memory": recall,
	}
}
