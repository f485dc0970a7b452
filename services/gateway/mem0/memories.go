package mem0

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/door"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
)

// scanPage is how many memories are read at a time.
const scanPage = 500

// usualPage is how many memories a page has where that is not said.
const usualPage = 100

// scopeOf is a user of the caller's tenant.
func scopeOf(ctx context.Context, user string) memory.Scope {
	p, _ := access.FromContext(ctx) // the guard has let the request through
	return memory.Scope{Tenant: p.Tenant.ID, User: user}
}

// metadataOf reads metadata.
func metadataOf(in fields) (map[string]any, error) {
	object, err := in.object("metadata")
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	if len(body) > maxMetadata {
		return nil, door.Invalid("metadata", fmt.Sprintf("is %d bytes of JSON, want at most %d", len(body), maxMetadata))
	}
	return object, nil
}

// list returns a page of the memories that hold, oldest first.
func (a *api) list(r *http.Request, in fields) (any, error) {
	q, err := queryOf(r)
	if err != nil {
		return nil, err
	}
	p, err := pageOf(q, usualPage)
	if err != nil {
		return nil, err
	}
	names, err := in.texts("fields")
	if err != nil {
		return nil, err
	}
	f, err := a.filterOf(r.Context(), in)
	if err != nil {
		return nil, err
	}
	count, results := 0, []any{}
	err = a.scan(r.Context(), f, func(m *item) error {
		if count++; count <= p.first() || len(results) == p.size {
			return nil
		}
		shown, err := m.only(names)
		results = append(results, shown)
		return err
	})
	if err != nil {
		return nil, err
	}
	return pagedOf(p, count, results), nil
}

// scan gives the memories that hold and that a filter means to each, user by user, oldest first.
func (a *api) scan(ctx context.Context, f filter, each func(*item) error) error {
	for _, user := range f.users {
		req := &mnemev1.ListMemoriesRequest{UserId: user, PageSize: scanPage, Statuses: []mnemev1.Status{mnemev1.Status_STATUS_ACTIVE}}
		for {
			res, err := a.Services.Memories.ListMemories(ctx, connect.NewRequest(req))
			if err != nil {
				return err
			}
			items, err := a.items(ctx, user, res.Msg.GetMemories())
			if err != nil {
				return err
			}
			for _, m := range items {
				if !f.root.holds(m) {
					continue
				}
				if err := each(m); err != nil {
					return err
				}
			}
			if req.PageToken = res.Msg.GetNextPageToken(); req.PageToken == "" {
				break
			}
		}
	}
	return nil
}

// found is a memory that was asked for by id.
type found struct {
	// id is the one that was asked for: of any version.
	id, user string
	// newest is what became of it: the version that took its place, or the memory itself.
	newest *mnemev1.Memory
	// versions are all that are connected with it, oldest first.
	versions []*mnemev1.Memory
}

// find finds a memory of any user of the tenant, or of the one whom the caller's key is for.
func (a *api) find(ctx context.Context, id string) (found, error) {
	id = memory.CanonicalID(id)
	res, err := a.Services.Memories.GetMemoryHistory(ctx, connect.NewRequest(&mnemev1.GetMemoryHistoryRequest{
		UserId: bound(ctx), MemoryId: id,
	}))
	if err != nil {
		if p := door.ProblemOf(err); p.Status == http.StatusNotFound || p.Field == "memory_id" { // what is no id is of no memory
			err = noMemory()
		}
		return found{}, err
	}
	out := found{id: id, user: res.Msg.GetUserId(), versions: res.Msg.GetVersions()}
	if out.newest = out.version(func(m *mnemev1.Memory) bool { return m.GetId() == id }); out.newest == nil {
		return found{}, noMemory()
	}
	for range out.versions {
		last := out.newest.GetId()
		next := out.version(func(m *mnemev1.Memory) bool { return slices.Contains(m.GetPredecessorIds(), last) })
		if next == nil {
			break
		}
		out.newest = next
	}
	return out, nil
}

// version is the first version that is meant; nil where none is.
func (f found) version(is func(*mnemev1.Memory) bool) *mnemev1.Memory {
	if i := slices.IndexFunc(f.versions, is); i >= 0 {
		return f.versions[i]
	}
	return nil
}

// standing is find for a memory that has not been deleted.
func (a *api) standing(ctx context.Context, id string) (found, error) {
	out, err := a.find(ctx, id)
	if err == nil && out.newest.GetStatus() == mnemev1.Status_STATUS_RETRACTED {
		err = notFound("the memory was deleted, or something that contradicts it was said")
	}
	return out, err
}

func noMemory() error { return notFound("there is no such memory") }

// item is what was found, as it is listed.
func (a *api) item(ctx context.Context, f found) (*item, error) {
	items, err := a.items(ctx, f.user, []*mnemev1.Memory{f.newest})
	if err != nil {
		return nil, err
	}
	return items[0], nil
}

// get returns a memory; of one that was updated, the newest version.
func (a *api) get(r *http.Request, _ fields) (any, error) {
	f, err := a.standing(r.Context(), r.PathValue("memory_id"))
	if err != nil {
		return nil, err
	}
	return a.item(r.Context(), f)
}

// remove retracts a memory: recall no longer shows it, its history stays. Those that it took the place of come back in no case.
func (a *api) remove(r *http.Request, _ fields) (any, error) {
	f, err := a.standing(r.Context(), r.PathValue("memory_id"))
	if err != nil {
		return nil, err
	}
	if err := a.retract(r.Context(), f); err != nil {
		return nil, err
	}
	return map[string]string{"message": "Memory deleted successfully!"}, nil
}

func (a *api) retract(ctx context.Context, f found) error {
	_, err := a.Services.Memories.DeleteMemory(ctx, connect.NewRequest(&mnemev1.DeleteMemoryRequest{
		UserId: f.user, MemoryId: f.newest.GetId(),
	}))
	return err
}
