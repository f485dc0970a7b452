package mem0

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	mnemev1 "github.com/mneme-memory/mneme/proto/mneme/v1"
)

// defaultSession is the session of what is said without a run_id.
const defaultSession = "mem0"

// item is a memory as mem0's clients see it.
type item struct {
	ID     string `json:"id"`
	Memory string `json:"memory"`
	// Hash is the same for the same text.
	Hash    string  `json:"hash"`
	UserID  *string `json:"user_id"`
	AgentID *string `json:"agent_id"`
	AppID   *string `json:"app_id"`
	RunID   *string `json:"run_id"`
	// Metadata is what came with what was said, and who said it where the memory is a quotation.
	Metadata   map[string]any `json:"metadata"`
	Categories []string       `json:"categories"`
	// CreatedAt is when it was said, and stays through updates; UpdatedAt is when it was written.
	CreatedAt string   `json:"created_at"`
	UpdatedAt string   `json:"updated_at"`
	Expires   *string  `json:"expiration_date"`
	Score     *float64 `json:"score,omitempty"`
	// VersionID is the id of the version that holds, where ID is that of the memory before it was updated.
	VersionID string `json:"version_id"`
	Version   uint32 `json:"version"`

	owner                      string
	keywords                   []string
	created, updated, happened time.Time
}

// itemOf is a memory of a user, with what was noted beside what was said.
func itemOf(user string, m *mnemev1.Memory, n note) *item {
	sum := sha256.Sum256([]byte(m.GetContent()))
	out := &item{
		ID: m.GetId(), VersionID: m.GetId(), Version: m.GetVersion(), Memory: m.GetContent(), Hash: hex.EncodeToString(sum[:16]),
		Metadata: map[string]any{}, Categories: categoriesOf(m), owner: user,
		keywords: m.GetKeywords(), created: timeOf(m.GetValidFrom()), updated: timeOf(m.GetRecordedAt()),
		happened: timeOf(m.GetEventTime().GetTime()),
	}
	if s := m.GetSpeaker(); s != "" {
		out.Metadata["speaker"] = s
	}
	maps.Copy(out.Metadata, n.Metadata)
	if out.created.IsZero() {
		out.created = out.updated
	}
	if out.happened.IsZero() {
		out.happened = out.created
	}
	if n.ID != "" {
		out.ID, out.created = n.ID, n.Created
	}
	if n.Updated.After(out.updated) {
		out.updated = n.Updated
	}
	out.CreatedAt, out.UpdatedAt = stamp(out.created), stamp(out.updated)
	out.AgentID, out.AppID = optional(n.Agent), optional(n.App)
	if s := m.GetSessionId(); s != defaultSession {
		out.RunID = optional(s)
	}
	kind, id := entityOf(user)
	*map[string]**string{userType: &out.UserID, agentType: &out.AgentID, appType: &out.AppID, runType: &out.RunID}[kind] = &id
	return out
}

// entity is what an entity field holds; nil where it holds nothing.
func (m *item) entity(field string) *string {
	switch field {
	case userField:
		return m.UserID
	case agentField:
		return m.AgentID
	case appField:
		return m.AppID
	}
	return m.RunID
}

// only are the fields of an item that a client wants to see, and its id.
func (m *item) only(names []string) (any, error) {
	if len(names) == 0 {
		return m, nil
	}
	body, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, err
	}
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return name != "id" && !slices.Contains(names, name) })
	return all, nil
}

// categoriesOf are the kind of a memory, and its topic.
func categoriesOf(m *mnemev1.Memory) []string {
	out := []string{strings.ToLower(strings.TrimPrefix(m.GetKind().String(), "KIND_"))}
	if t := m.GetTopic(); t != "" {
		out = append(out, t)
	}
	return out
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// items are memories of a user with what was noted beside them.
func (a *api) items(ctx context.Context, user string, ms []*mnemev1.Memory) ([]*item, error) {
	notes, err := a.State.notesOf(ctx, scopeOf(ctx, user), ms)
	if err != nil {
		return nil, err
	}
	return itemsOf(user, ms, notes), nil
}

func itemsOf(user string, ms []*mnemev1.Memory, notes []note) []*item {
	out := make([]*item, len(ms))
	for i, m := range ms {
		out[i] = itemOf(user, m, notes[i])
	}
	return out
}
