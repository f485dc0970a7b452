package mem0

import (
	"context"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

// parallel is how many memories are read at the same time.
const parallel = 8

// Changes of a memory, by mem0's names.
const (
	eventAdd    = "ADD"
	eventUpdate = "UPDATE"
	eventDelete = "DELETE"
)

// past is one change of a memory.
type past struct {
	ID       string    `json:"id"`
	MemoryID string    `json:"memory_id"`
	Input    []message `json:"input"`
	// Old and New are the texts before and after the change.
	Old        *string        `json:"old_memory"`
	New        *string        `json:"new_memory"`
	UserID     *string        `json:"user_id"`
	Event      string         `json:"event"`
	Metadata   map[string]any `json:"metadata"`
	Categories []string       `json:"categories"`
	CreatedAt  string         `json:"created_at"`
	UpdatedAt  string         `json:"updated_at"`
}

// message is a message of a turn.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// history returns the changes of a memory, of all versions that are connected with it, oldest first.
func (a *api) history(r *http.Request, _ fields) (any, error) {
	f, err := a.find(r.Context(), r.PathValue("memory_id"))
	if err != nil {
		return nil, err
	}
	items := make([]*item, len(f.versions))
	for i, m := range f.versions {
		items[i] = itemOf(f.user, m)
	}
	inputs, err := a.inputs(r.Context(), f)
	if err != nil {
		return nil, err
	}
	memory := itemOf(f.user, f.newest).ID
	out, contents := []past{}, map[string]string{}
	for i, m := range f.versions {
		contents[m.GetId()] = m.GetContent()
		change := pastOf(memory, items[i], inputs[i])
		change.Event, change.New = eventOf(m), &items[i].Memory
		if replaced := contentsOf(contents, m.GetPredecessorIds()); replaced != "" {
			change.Old = &replaced
		}
		out = append(out, change)
	}
	if m := f.newest; m.GetStatus() == mnemev1.Status_STATUS_RETRACTED {
		for i, v := range f.versions {
			if v.GetId() == m.GetId() {
				out = append(out, deleted(memory, items[i], m))
			}
		}
	}
	return out, nil
}

func pastOf(memory string, m *item, input []message) past {
	return past{
		ID: m.VersionID, MemoryID: memory, Input: input, UserID: m.UserID, Metadata: m.Metadata, Categories: m.Categories,
		CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt,
	}
}

// deleted is the end of a memory.
func deleted(memory string, m *item, last *mnemev1.Memory) past {
	out := pastOf(memory, m, []message{})
	out.ID, out.Event, out.Old = uuid.NewSHA1(uuid.NameSpaceOID, []byte(m.VersionID+"\n"+eventDelete)).String(),
		eventDelete, &m.Memory
	if until := timeOf(last.GetValidTo()); !until.IsZero() {
		out.UpdatedAt = stamp(until)
	}
	return out
}

// eventOf returns the event that made a version.
func eventOf(m *mnemev1.Memory) string {
	if len(m.GetPredecessorIds()) > 0 {
		return eventUpdate
	}
	return eventAdd
}

// contentsOf returns the texts of versions, one line each.
func contentsOf(contents map[string]string, ids []string) string {
	var lines []string
	for _, id := range ids {
		if c := contents[id]; c != "" {
			lines = append(lines, c)
		}
	}
	return strings.Join(lines, "\n")
}

// inputs returns the source turns of each version, as far as they are stored.
func (a *api) inputs(ctx context.Context, f found) ([][]message, error) {
	out := make([][]message, len(f.versions))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, m := range f.versions {
		g.Go(func() error {
			res, err := a.Services.Memories.GetMemory(gctx,
				connect.NewRequest(&mnemev1.GetMemoryRequest{UserId: f.user, MemoryId: m.GetId()}))
			out[i] = messagesOf(res, err)
			return err
		})
	}
	return out, g.Wait()
}

func messagesOf(res *connect.Response[mnemev1.GetMemoryResponse], err error) []message {
	out := []message{}
	if err != nil {
		return out
	}
	for _, t := range res.Msg.GetSources() {
		out = append(out, message{Role: strings.ToLower(strings.TrimPrefix(t.GetRole().String(), "ROLE_")),
			Content: t.GetText()})
	}
	return out
}
