package mem0

import "github.com/mneme-memory/mneme/shared/access"

// Scopes returns the required scopes of each call of the API, by method and path. A call that any key may make has
// no scopes. The services and stores behind the gateway check the scopes. This list states the result for OpenAPI.
// A change of a memory by its id also reads the memory.
func Scopes() map[string][]access.Scope {
	const memory, entity = "/v1/memories/{memory_id}/", "/entities/{entity_type}/{entity_id}/"
	const hooks, project = "/api/v1/webhooks/", "/api/v1/orgs/organizations/{org_id}/projects/"
	var (
		none, read, recall = scopeList(), scopeList(access.Read), scopeList(access.Recall)
		erase, change      = scopeList(access.Erase), scopeList(access.Read, access.Erase)
		report             = scopeList(access.Read, access.Recall)
		keep, tell         = scopeList(access.Admin), scopeList(access.Admin, access.Read)
	)
	return map[string][]access.Scope{
		"GET /v1/ping/": none, "POST /v3/memories/add/": scopeList(access.Ingest),
		"POST /v3/memories/search/": recall, "POST /v3/memories/": read, "GET " + memory: read,
		"PUT " + memory: change, "DELETE " + memory: change, "GET " + memory + "history/": read,
		"PUT /v1/batch/": change, "DELETE /v1/batch/": change, "DELETE /v1/memories/": erase,
		"DELETE /v1" + entity: erase, "DELETE /v2" + entity: erase, "GET /v1/entities/": read,
		"GET /v2" + entity + "profile/": report, "POST /v1/summary/": recall, "GET /v1/event/{event_id}/": read,
		"GET /v1/events/": read, "POST /v1/feedback/": report, "POST /v1/exports/": read,
		"POST /v1/exports/get/": read, "GET " + hooks + "projects/{project_id}/": keep,
		"POST " + hooks + "projects/{project_id}/": tell, "PUT " + hooks + "{webhook_id}/": tell,
		"DELETE " + hooks + "{webhook_id}/": keep, "GET " + project + "{project_id}/": none,
		"PATCH " + project + "{project_id}/": none, "DELETE " + project + "{project_id}/": none,
		"POST " + project: none, "GET " + project + "{project_id}/members/": none,
		"POST " + project + "{project_id}/members/": none, "PUT " + project + "{project_id}/members/": none,
		"DELETE " + project + "{project_id}/members/": none, "POST /v2/profiles/jobs/": none,
		"GET /v2/profiles/jobs/{job_id}/": none, "GET /v2/profiles/settings/": none,
		"POST /v2/profiles/settings/": none,
	}
}

func scopeList(scopes ...access.Scope) []access.Scope { return append([]access.Scope{}, scopes...) }
