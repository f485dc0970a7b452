// Package mem0 serves mem0's API on the gateway for existing clients: the unmodified packages `mem0ai` of PyPI and
// npm, and software built on them. The API key decides the tenant. The organisation or project in a request has no
// effect.
//
// An entity of mem0 is a user of Mneme. A user_id stays as it is. Without a user_id, an agent, app or run is the
// user "agent:ID", "app:ID" or "run:ID". With a user_id, the turns carry agent_id, app_id and run_id, as they carry
// metadata, and a run is a session. A key for one user stands for that user_id if the request has no user_id.
//
// The API answers features without a meaning here with 501 and the reason. It ignores unknown fields.
package mem0

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/ingest"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/store/mem0state"
)

// Parts are the dependencies of the API. All but Webhooks and Log are needed.
type Parts struct {
	Services backend.Services
	Ingest   *ingest.Ingester
	// State keeps events, exports, users and the last searches.
	State *mem0state.Store
	// Webhooks manages webhooks; nil answers that there are none, with 501.
	Webhooks Webhooks
	Now      func() time.Time
	// Log receives the causes of internal errors and of unavailable services. Clients do not see these causes.
	Log *slog.Logger
}

// api serves the calls of the API.
type api struct{ Parts }

// New makes the API. guard.Guard stands before it, with WriteProblem.
func New(p Parts) http.Handler {
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	a := &api{p}
	return &router{routes: a.routes(), log: p.Log}
}

// Prefixes begin the paths of the API. They leave room for /v1/tenants/.
func Prefixes() []string {
	return []string{
		"/v1/ping/", "/v1/memories/", "/v1/batch/", "/v1/event/", "/v1/events/", "/v1/entities/", "/v1/feedback/",
		"/v1/exports/", "/v1/summary/", "/v2/", "/v3/", "/api/v1/",
	}
}

// routes are the calls. Paths end with a slash, which may be left out.
func (a *api) routes() []route {
	memory, entity := "/v1/memories/{memory_id}/", "/entities/{entity_type}/{entity_id}/"
	hooks, project := "/api/v1/webhooks/", "/api/v1/orgs/organizations/{org_id}/projects/"
	return []route{
		newRoute("GET /v1/ping/", a.ping), newRoute("POST /v3/memories/add/", a.add),
		newRoute("POST /v3/memories/search/", a.search), newRoute("POST /v3/memories/", a.list),
		newRoute("GET "+memory, a.get), newRoute("PUT "+memory, a.update), newRoute("DELETE "+memory, a.remove),
		newRoute("GET "+memory+"history/", a.history), newRoute("PUT /v1/batch/", a.updateAll),
		newRoute("DELETE /v1/batch/", a.removeAll), newRoute("DELETE /v1/memories/", a.eraseAll),
		newRoute("DELETE /v1"+entity, a.eraseEntity), newRoute("DELETE /v2"+entity, a.eraseEntity),
		newRoute("GET /v1/entities/", a.entities), newRoute("GET /v2"+entity+"profile/", a.profile),
		newRoute("POST /v1/summary/", a.summary), newRoute("GET /v1/event/{event_id}/", a.event),
		newRoute("GET /v1/events/", a.events), newRoute("POST /v1/feedback/", a.feedback),
		newRoute("POST /v1/exports/", a.export), newRoute("POST /v1/exports/get/", a.exported),
		newRoute("GET "+hooks+"projects/{project_id}/", a.listWebhooks),
		newRoute("POST "+hooks+"projects/{project_id}/", a.createWebhook),
		newRoute("PUT "+hooks+"{webhook_id}/", a.updateWebhook),
		newRoute("DELETE "+hooks+"{webhook_id}/", a.deleteWebhook),
		newRoute("GET "+project+"{project_id}/", a.project),
		newRoute("PATCH "+project+"{project_id}/", unsupported(noInstructions)),
		newRoute("DELETE "+project+"{project_id}/", unsupported(noProjects)),
		newRoute("POST "+project, unsupported(noProjects)),
		newRoute("GET "+project+"{project_id}/members/", unsupported(noMembers)),
		newRoute("POST "+project+"{project_id}/members/", unsupported(noMembers)),
		newRoute("PUT "+project+"{project_id}/members/", unsupported(noMembers)),
		newRoute("DELETE "+project+"{project_id}/members/", unsupported(noMembers)),
		newRoute("POST /v2/profiles/jobs/", unsupported(noJobs)),
		newRoute("GET /v2/profiles/jobs/{job_id}/", unsupported(noJobs)),
		newRoute("GET /v2/profiles/settings/", unsupported(noJobs)),
		newRoute("POST /v2/profiles/settings/", unsupported(noJobs)),
	}
}

// Why calls have no meaning here.
const (
	noInstructions = "a project's instructions, categories and settings have no meaning here: what is remembered is " +
		"decided by the tenant's strategy of forming memory"
	noProjects = "projects have no meaning here: a tenant is one, and is made by who runs Mneme"
	noMembers  = "members have no meaning here: who has an API key of the tenant has access"
	noJobs     = "generating profiles has no meaning here: a profile is made of the memories as they are whenever it " +
		"is asked for"
)

// unsupported is a call that has no meaning here.
func unsupported(why string) operation {
	return func(*http.Request, fields) (any, error) { return nil, problem.Unsupported(why) }
}

// caller returns the principal of a request.
func caller(r *http.Request) access.Principal {
	p, _ := access.FromContext(r.Context()) // the guard has let the request through
	return p
}

// ping returns the tenant of the key. Mneme has no e-mail addresses: in the field of that name, too, clients get
// the tenant.
func (a *api) ping(r *http.Request, _ fields) (any, error) {
	id := caller(r).Tenant.ID
	return map[string]string{"status": "ok", "org_id": id, "project_id": id, "user_email": id}, nil
}

// WriteProblem writes a problem as mem0's clients read it: {"detail": ...} as application/json.
func WriteProblem(w http.ResponseWriter, _ *http.Request, p problem.Problem) {
	p.SetHeaders(w.Header())
	said := map[string]string{"detail": p.Error(), "code": p.Code}
	if p.Field != "" {
		said["field"] = p.Field
	}
	write(w, p.Status, said)
}

// write writes an answer.
func write(w http.ResponseWriter, status int, answer any) {
	body, err := json.Marshal(answer)
	if err != nil { // answers are made of what JSON has
		status, body = http.StatusInternalServerError, []byte(`{"detail":"an internal error","code":"internal"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller has gone
}

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
