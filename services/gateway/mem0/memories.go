package mem0

import (
	"context"
	"net/http"
	"slices"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/proto/mneme/v1/mnemev1connect"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
	"github.com/mneme-memory/mneme/shared/memory"
)

// scanPage is how many memories are read at a time.
const scanPage = 1000

// usualPage is the default number of memories on a page.
const usualPage = 100

// scopeOf is a user of the caller's tenant.
func scopeOf(ctx context.Context, user string) memory.Scope {
	p, _ := access.FromContext(ctx) // the guard has let the request through
	return memory.Scope{Tenant: p.Tenant.ID, User: user}
}

// list returns a page of the memories that hold, oldest first.
func (a *api) list(r *http.Request, in fields) (any, error) {
	_, p, err := pageOf(r, usualPage)
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
	items, count, err := a.page(r.Context(), f, p)
	if err != nil {
		return nil, err
	}
	results := make([]any, len(items))
	for i, m := range items {
		if results[i], err = m.only(names); err != nil {
			return nil, err
		}
	}
	return pagedOf(p, count, results), nil
}

// page returns a page of the current memories that match a filter, and their number. The order is user by user,
// oldest first. It reads the memories before the page, because the bank continues after an entry and not at a
// number. It reads no memories after the page.
func (a *api) page(ctx context.Context, f filter, p page) (items []*item, count int, err error) {
	for _, user := range f.users {
		l := a.listing(user, f)
		if l == nil {
			continue
		}
		if err := l.skip(ctx, max(p.offset()-count, 0)); err != nil {
			return nil, 0, err
		}
		more, err := l.next(ctx, p.size-len(items))
		if err != nil {
			return nil, 0, err
		}
		if err := l.counted(ctx); err != nil {
			return nil, 0, err
		}
		items, count = append(items, more...), count+l.total
	}
	return items, count, nil
}

// listing reads the memories of a user that hold and that a filter means, oldest first.
type listing struct {
	client mnemev1connect.MemoryServiceClient
	user   string
	req    *mnemev1.ListMemoriesRequest
	// read is how many memories have been read, of total; the total comes with the first page.
	read, total int
	ended       bool
}

// listing begins to read; it is nil where the filter means no memory of the user.
func (a *api) listing(user string, f filter) *listing {
	c := f.root.clauseFor(user)
	if c.filter == nil && !c.holds {
		return nil
	}
	return &listing{client: a.Services.Memories, user: user, req: &mnemev1.ListMemoriesRequest{
		UserId: user, Statuses: []mnemev1.Status{mnemev1.Status_STATUS_ACTIVE}, Filter: c.filter, WithTotal: true,
	}}
}

// page reads a page of the bank, of at most n memories.
func (l *listing) page(ctx context.Context, n int) ([]*mnemev1.Memory, error) {
	l.req.PageSize = uint32(min(n, scanPage)) //nolint:gosec // a few
	res, err := l.client.ListMemories(ctx, connect.NewRequest(l.req))
	if err != nil {
		return nil, err
	}
	if l.req.WithTotal {
		l.total, l.req.WithTotal = int(res.Msg.GetTotal()), false //nolint:gosec // a count
	}
	l.read += len(res.Msg.GetMemories())
	l.req.PageToken = res.Msg.GetNextPageToken()
	l.ended = l.req.PageToken == ""
	return res.Msg.GetMemories(), nil
}

// skip passes n memories over, and all of them where there are no more than n.
func (l *listing) skip(ctx context.Context, n int) error {
	for l.read < n && !l.ended {
		if _, err := l.page(ctx, n-l.read); err != nil {
			return err
		}
		l.ended = l.ended || l.total <= n
	}
	return nil
}

// next returns the next n memories, fewer where there are no more.
func (l *listing) next(ctx context.Context, n int) ([]*item, error) {
	var out []*item
	for len(out) < n && !l.ended {
		memories, err := l.page(ctx, n-len(out))
		if err != nil {
			return nil, err
		}
		for _, m := range memories {
			out = append(out, itemOf(l.user, m))
		}
	}
	return out, nil
}

// counted makes sure that the listing has its total.
func (l *listing) counted(ctx context.Context) error {
	if !l.req.WithTotal {
		return nil
	}
	_, err := l.page(ctx, 1)
	return err
}

// found is the result of a lookup by id.
type found struct {
	// id is the requested id, of any version.
	id, user string
	// newest is the newest version: the version that replaced the memory, or the memory itself.
	newest *mnemev1.Memory
	// versions are all that are connected with it, oldest first.
	versions []*mnemev1.Memory
}

// find finds a memory of any user of the tenant, or of the single user of the caller's key.
func (a *api) find(ctx context.Context, id string) (found, error) {
	id = memory.CanonicalID(id)
	res, err := a.Services.Memories.GetMemoryHistory(ctx,
		connect.NewRequest(&mnemev1.GetMemoryHistoryRequest{UserId: bound(ctx), MemoryId: id}))
	if err != nil {
		// a malformed id names no memory
		if p := problem.From(err); p.Status == http.StatusNotFound || p.Field == "memory_id" {
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
		err = problem.NotFound("the memory was deleted, or a later statement contradicts it")
	}
	return out, err
}

func noMemory() error { return problem.NotFound("there is no such memory") }

// get returns a memory; of one that was updated, the newest version.
func (a *api) get(r *http.Request, _ fields) (any, error) {
	f, err := a.standing(r.Context(), r.PathValue("memory_id"))
	if err != nil {
		return nil, err
	}
	return itemOf(f.user, f.newest), nil
}

// remove retracts a memory: recall no longer shows it, its history stays. Those that it took the place of come back
// in no case.
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
	_, err := a.Services.Memories.DeleteMemory(ctx,
		connect.NewRequest(&mnemev1.DeleteMemoryRequest{UserId: f.user, MemoryId: f.newest.GetId()}))
	return err
}
