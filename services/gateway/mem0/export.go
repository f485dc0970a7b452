package mem0

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
)

// maxExported is how many memories an export holds.
const maxExported = 10_000

// exportRemark is the remark in every answer about exports.
const exportRemark = "The export is ready. It has the memories as they are when it is fetched; no model shapes them " +
	"by the schema."

// export stores the request of an export. It copies no memories: the export has the memories of the time when the
// client fetches it.
func (a *api) export(r *http.Request, in fields) (any, error) {
	if !in.has("schema") {
		return nil, problem.Invalid("schema", "is missing")
	}
	f, err := a.filterOf(r.Context(), in)
	if err != nil {
		return nil, err
	}
	for _, user := range f.users {
		if err := backend.Check(r.Context(), access.Read, user); err != nil {
			return nil, err
		}
	}
	tenant, id := scopeOf(r.Context(), "").Tenant, uuid.NewString()
	request, err := json.Marshal(choice(in))
	if err != nil {
		return nil, err
	}
	tokens, err := a.State.Tokens(r.Context(), tenant, f.users...)
	if err != nil {
		return nil, err
	}
	if err := a.State.KeepExport(r.Context(), tenant, id, f.users, tokens, request); err != nil {
		return nil, err
	}
	return reply{http.StatusCreated, map[string]string{"id": id, "message": exportRemark}}, nil
}

// choice returns the part of a request that selects memories.
func choice(in fields) fields {
	out := fields{}
	for _, name := range append([]string{"filters", "metadata", "categories", "start_date", "end_date"}, entityFields...) {
		if in.has(name) {
			out[name] = in[name]
		}
	}
	return out
}

// exported returns the memories of a requested export, or of the same filters.
func (a *api) exported(r *http.Request, in fields) (any, error) {
	id, err := in.text("memory_export_id")
	if err != nil {
		return nil, err
	}
	if id != "" {
		request, known, err := a.State.Export(r.Context(), scopeOf(r.Context(), "").Tenant, memory.CanonicalID(id))
		if err != nil {
			return nil, err
		}
		if !known {
			return nil, problem.NotFound("there is no such export; exports stay for a week")
		}
		if in, err = fieldsOf(request); err != nil {
			return nil, err
		}
	}
	f, err := a.filterOf(r.Context(), in)
	if err != nil {
		return nil, err
	}
	memories, err := a.all(r.Context(), f)
	if err != nil {
		return nil, err
	}
	return map[string]any{"id": optional(id), "status": statusSucceeded, "message": exportRemark, "memories": memories},
		nil
}

// all are the memories that a filter means, user by user, oldest first.
func (a *api) all(ctx context.Context, f filter) ([]*item, error) {
	out := []*item{}
	for _, user := range f.users {
		l := a.listing(user, f)
		if l == nil {
			continue
		}
		more, err := l.next(ctx, maxExported+1-len(out))
		if err != nil {
			return nil, err
		}
		if out = append(out, more...); len(out) > maxExported {
			return nil, problem.Problem{
				Status: http.StatusRequestEntityTooLarge, Code: problem.CodeTooLarge, Field: "filters",
				Detail: fmt.Sprintf("match more than %d memories: narrow them, or list the memories page by page", maxExported),
			}
		}
	}
	return out, nil
}
