// Package rest is the gateway's REST API, under /v1/tenants/self. It accepts turns, returns recalls and answers,
// and manages memories and all stored data of a user. OpenAPI 3.1 describes it. The API checks each field of a
// request against that description before any action.
package rest

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/deadletters"
	"github.com/mneme-memory/mneme/services/gateway/guard"
	"github.com/mneme-memory/mneme/services/gateway/ingest"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
	"github.com/mneme-memory/mneme/shared/store/idempotency"
)

// Prefix begins the paths that need a key.
const Prefix = "/v1/tenants/"

// base is the prefix of the API's paths. The key decides the tenant.
const base = Prefix + "self"

// Idempotency makes requests repeatable; *idempotency.Requests of the gateway is one.
type Idempotency interface {
	// Wrap has requests with an Idempotency-Key carried out once by next. Secrets are fields of the answer that are not
	// kept.
	Wrap(write guard.Writer, next http.Handler, secrets ...string) http.Handler
	// Knows reports whether something of a user was accepted.
	Knows(ctx context.Context, scope memory.Scope, kind idempotency.Accepted, id string) (bool, error)
}

// Keys manages the API keys of the caller's tenant; keys.Manager is one. It holds the caller against access.Admin.
type Keys interface {
	// Create makes a key, and returns its text, which is shown once.
	Create(ctx context.Context, k access.Key) (access.Key, string, error)
	// List returns the keys, oldest first.
	List(ctx context.Context) ([]access.Key, error)
	// Revoke ends a key.
	Revoke(ctx context.Context, id string) error
}

// DeadLetters are the dead letters of the caller's tenant. problem.From turns its errors into answers. For an
// invalid cursor, the error is an invalid "cursor". For a letter that does not exist, or of another tenant, the
// error is not found.
type DeadLetters interface {
	// List returns up to limit letters, the newest first, and the next cursor. An empty cursor is the beginning, an
	// empty next the end. List and Replay require access.Admin.
	List(ctx context.Context, limit int, cursor string) (letters []deadletters.Letter, next string, err error)
	// Replay sends the record of a letter on its way again.
	Replay(ctx context.Context, id string) error
	// Find returns the letter of a turn of a user, if there is one. It holds the caller against access.Read and the
	// user.
	Find(ctx context.Context, user, turnID string) (letter deadletters.Letter, ok bool, err error)
}

// Usage returns the usage of the caller's tenant. quota.Quota implements it. It requires access.Admin.
type Usage interface {
	// Usage returns counts of a day in UTC ("2026-11-25"); empty means today.
	Usage(ctx context.Context, day string) (map[string]int64, error)
	// OverItems counts a call that would store more items than the caller's tenant may have. It returns the error
	// of that call.
	OverItems(ctx context.Context) error
}

// Parts are the dependencies of the API. All but Log and OtherDoors are needed.
type Parts struct {
	Services    backend.Services
	Ingest      *ingest.Ingester
	Idempotency Idempotency
	Keys        Keys
	DeadLetters DeadLetters
	Usage       Usage
	Verbatim    Verbatim
	Webhooks    Webhooks
	// OtherDoors are the scopes that operations of other doors need, by door and operation, for the description; may be
	// nil.
	OtherDoors map[string]map[string][]access.Scope
	// Streams serves the streams of changes; *stream.Server does.
	Streams http.Handler
	Now     func() time.Time
	// Log receives the causes of internal errors and of unavailable services. Clients do not see these causes.
	Log *slog.Logger
}

// API is the REST API.
type API struct {
	Parts
	huma   huma.API
	router *router
	public http.Handler
}

// New makes the API. Its error says which part is missing.
func New(p Parts) (*API, error) {
	for name, missing := range map[string]bool{
		"Services": p.Services.Recall == nil || p.Services.Memories == nil || p.Services.UserData == nil ||
			p.Services.Diagnosis == nil,
		"Ingest": p.Ingest == nil, "Idempotency": p.Idempotency == nil, "Keys": p.Keys == nil,
		"DeadLetters": p.DeadLetters == nil,
		"Usage":       p.Usage == nil, "Verbatim": p.Verbatim == nil, "Streams": p.Streams == nil,
		"Webhooks": p.Webhooks == nil,
		"Now":      p.Now == nil,
	} {
		if missing {
			return nil, errors.New("REST API without " + name)
		}
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	a := &API{Parts: p, router: newRouter()}
	a.huma = humago.New(a.router, configuration())
	a.turns()
	a.recalls()
	a.memories()
	a.userData()
	a.verbatim()
	a.manage()
	a.streams()
	a.webhooks()
	delete(a.huma.OpenAPI().Components.Schemas.Map(), "ErrorModel") // of the library; Problem is ours
	if p.OtherDoors != nil {
		a.huma.OpenAPI().Extensions = map[string]any{"x-scopes": p.OtherDoors}
	}
	var err error
	a.public, err = public(a.huma.OpenAPI())
	return a, err
}

// Handler serves the paths under Prefix, which need a key. guard.Guard stands before it, with WriteProblem. The
// handler needs the paths unchanged. net/http's mux would redirect paths with "..", or with an empty identifier. So
// route Prefix to this handler before that mux.
func (a *API) Handler() http.Handler { return a.router }

// Public serves /openapi.json and /docs, which need no key.
func (a *API) Public() http.Handler { return a.public }

func configuration() huma.Config {
	c := huma.DefaultConfig("Mneme", "1")
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "", "", "" // served by Public
	c.CreateHooks = nil                                   // which would put $schema into every answer
	c.Info.Description = description
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"key": {Type: "http", Scheme: "bearer", Description: "An API key of the tenant."},
	}
	c.Tags = tags()
	return c
}
