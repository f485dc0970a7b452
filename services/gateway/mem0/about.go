package mem0

import (
	"context"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
	"github.com/mneme-memory/mneme/services/gateway/backend"
	"github.com/mneme-memory/mneme/services/gateway/problem"
	"github.com/mneme-memory/mneme/shared/access"
)

// aboutQuery is the query for everything that matters about a user.
const aboutQuery = "What matters about the user?"

// aboutMemories is how many memories that may rest on.
const aboutMemories = 20

// entityView is an entity as clients see it.
type entityView struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Type      string `json:"type"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

// entities lists the entities that received an addition over this API, the latest first. Mneme keeps no list of
// users.
func (a *api) entities(r *http.Request, _ fields) (any, error) {
	_, p, err := pageOf(r, usualPage)
	if err != nil {
		return nil, err
	}
	key := bound(r.Context())
	if err := backend.Check(r.Context(), access.Read, key); err != nil {
		return nil, err
	}
	list, count, err := a.State.Users(r.Context(), scopeOf(r.Context(), key), p.offset(), p.size)
	if err != nil {
		return nil, err
	}
	out := make([]entityView, len(list))
	for i, u := range list {
		kind, id := entityOf(u.ID)
		out[i] = entityView{ID: id, Name: id, Type: kind, CreatedAt: stamp(u.First), UpdatedAt: stamp(u.Last)}
	}
	return pagedOf(p, count, out), nil
}

// about recalls the memories that matter about a user.
func (a *api) about(ctx context.Context, user string) (*mnemev1.RecallResponse, error) {
	return backend.Ask(ctx, a.Services.Recall.Recall,
		&mnemev1.RecallRequest{UserId: user, Query: aboutQuery, Memories: aboutMemories})
}

// profileView is a profile as clients see it.
type profileView struct {
	Profile    map[string][]string `json:"profile"`
	Status     string              `json:"status"`
	EntityType string              `json:"entity_type"`
	EntityID   string              `json:"entity_id"`
	UpdatedAt  *string             `json:"updated_at"`
	// Generations is how often the core block was written.
	Generations uint32 `json:"generation_count"`
}

// profile returns the memories that matter about an entity, as they are now.
func (a *api) profile(r *http.Request, _ fields) (any, error) {
	user, err := entityAt(r)
	if err != nil {
		return nil, err
	}
	core, err := a.Services.Memories.GetCore(r.Context(), connect.NewRequest(&mnemev1.GetCoreRequest{UserId: user}))
	if err != nil {
		return nil, err
	}
	known, err := a.about(r.Context(), user)
	if err != nil {
		return nil, err
	}
	out := profileView{
		Profile: map[string][]string{}, Status: "insufficient_data", Generations: core.Msg.GetCore().GetVersion(),
		EntityType: r.PathValue("entity_type"), EntityID: r.PathValue("entity_id"),
	}
	if at := timeOf(core.Msg.GetCore().GetUpdatedAt()); !at.IsZero() {
		out.UpdatedAt = new(stamp(at))
	}
	for _, s := range known.GetSections() {
		if len(s.GetLines()) > 0 {
			out.Profile[s.GetName()], out.Status = s.GetLines(), "succeeded"
		}
	}
	return out, nil
}

// summary returns the memories that matter about one entity, as text.
func (a *api) summary(r *http.Request, in fields) (any, error) {
	f, err := a.filterOf(r.Context(), in)
	if err != nil {
		return nil, err
	}
	if len(f.users) != 1 || f.narrow {
		return nil, problem.UnsupportedField("filters",
			"have more conditions than one entity: a summary covers all memories of one entity")
	}
	known, err := a.about(r.Context(), f.users[0])
	if err != nil {
		return nil, err
	}
	return map[string]string{"summary": strings.TrimSpace(known.GetProfile())}, nil
}
